-- Jobs are a projection: the application keeps them behind row security, and may lock their rows to share them out.
REVOKE ALL ON ledger.jobs FROM PUBLIC;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        RETURN;
    END IF;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ledger.jobs TO ledger_app;
    GRANT SELECT ON ledger.jobs TO ledger_verifier;
    CREATE POLICY verifier_reads ON ledger.jobs FOR SELECT TO ledger_verifier USING (true);
END
$$;
