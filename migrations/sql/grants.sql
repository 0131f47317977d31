-- Privileges (trust §4). PUBLIC has none. The application reads the log, writes to it only by functions, and writes
-- what is folded from it directly, under row security. The verifier reads everything but the tokens.
REVOKE ALL ON SCHEMA ledger FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA ledger FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;

DO $$
DECLARE
    v_folded text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        RETURN;
    END IF;
    GRANT USAGE ON SCHEMA ledger TO ledger_app, ledger_verifier;
    GRANT SELECT ON ledger.namespaces, ledger.streams, ledger.events, ledger.append_requests, ledger.events_readable,
        ledger.alembic_version TO ledger_app, ledger_verifier;
    GRANT EXECUTE ON FUNCTION ledger.append, ledger.append_stream, ledger.create_namespace, ledger.find_items,
        ledger.find_token, ledger.namespace_ids, ledger.prune_requests, ledger.search, ledger.search_records TO ledger_app;
    GRANT EXECUTE ON FUNCTION ledger.namespace_ids TO ledger_verifier;
    FOREACH v_folded IN ARRAY ARRAY[
        'snapshots', 'projection_checkpoints', 'session_index', 'search_entries', 'search_forks', 'search_fork_changes',
        'search_terms', 'search_embeddings', 'records', 'record_accesses', 'record_embeddings', 'jobs', 'served_views'
    ] LOOP
        CONTINUE WHEN to_regclass('ledger.' || v_folded) IS NULL; -- embeddings need pgvector
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ledger.%I TO ledger_app', v_folded);
        EXECUTE format('GRANT SELECT ON ledger.%I TO ledger_verifier', v_folded);
    END LOOP;
END
$$;
