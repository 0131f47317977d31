-- Who may do what (trust §4). PUBLIC has nothing; the application may read, and write only through functions.
REVOKE ALL ON SCHEMA ledger FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA ledger FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;

DO $$
DECLARE
    log text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        RETURN;
    END IF;
    GRANT USAGE ON SCHEMA ledger TO ledger_app, ledger_verifier;
    GRANT SELECT ON ledger.namespaces, ledger.streams, ledger.events, ledger.payloads, ledger.append_requests,
        ledger.events_readable, ledger.alembic_version TO ledger_app, ledger_verifier;
    GRANT SELECT, INSERT, UPDATE, DELETE
        ON ledger.snapshots, ledger.projection_checkpoints, ledger.session_index TO ledger_app;
    GRANT SELECT ON ledger.snapshots, ledger.projection_checkpoints, ledger.session_index TO ledger_verifier;
    GRANT EXECUTE ON FUNCTION ledger.append, ledger.create_namespace, ledger.namespace_ids, ledger.prune_requests
        TO ledger_app;
    GRANT EXECUTE ON FUNCTION ledger.namespace_ids TO ledger_verifier;
    FOREACH log IN ARRAY ARRAY[
        'namespaces', 'streams', 'events', 'payloads', 'append_requests',
        'snapshots', 'projection_checkpoints', 'session_index'
    ] LOOP
        EXECUTE format('CREATE POLICY verifier_reads ON ledger.%I FOR SELECT TO ledger_verifier USING (true)', log);
    END LOOP;
END
$$;
