-- Long-term memory is a projection: the application keeps it behind row security, and asks through the function.
REVOKE ALL ON ledger.records, ledger.record_accesses FROM PUBLIC;
REVOKE ALL ON FUNCTION ledger.search_records FROM PUBLIC;

DO $$
DECLARE
    kept text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        RETURN;
    END IF;
    GRANT EXECUTE ON FUNCTION ledger.search_records TO ledger_app;
    FOREACH kept IN ARRAY ARRAY['records', 'record_accesses', 'record_embeddings'] LOOP
        IF to_regclass('ledger.' || kept) IS NOT NULL THEN
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ledger.%I TO ledger_app', kept);
            EXECUTE format('GRANT SELECT ON ledger.%I TO ledger_verifier', kept);
            EXECUTE format('CREATE POLICY verifier_reads ON ledger.%I FOR SELECT TO ledger_verifier USING (true)', kept);
        END IF;
    END LOOP;
END
$$;
