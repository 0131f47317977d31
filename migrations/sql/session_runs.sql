-- The runs of agents that events of sessions name, folded from the log with the session index: a row per session and run,
-- with the version of the first event. A fork has rows only for its own events; its parent's tell the others.
CREATE TABLE ledger.session_runs (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version bigint NOT NULL,
    run_id ledger.short_text NOT NULL,
    PRIMARY KEY (namespace_id, projection_version, stream_id, run_id)
);
-- It starts with the run, so that the planner, before it knows the table, does not use it instead of the primary key.
CREATE INDEX session_runs_run_id ON ledger.session_runs (run_id COLLATE "C", namespace_id, projection_version);

ALTER TABLE ledger.session_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.session_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON ledger.session_runs USING (
    array_position(
        (SELECT string_to_array(nullif(current_setting('ledger.namespace', true), ''), ',')::uuid[]), namespace_id
    ) IS NOT NULL
);
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        CREATE POLICY owner_filters ON ledger.session_runs TO CURRENT_USER USING (true);
        CREATE POLICY verifier_reads ON ledger.session_runs FOR SELECT TO ledger_verifier USING (true);
        GRANT SELECT, INSERT, UPDATE, DELETE ON ledger.session_runs TO ledger_app;
        GRANT SELECT ON ledger.session_runs TO ledger_verifier;
    END IF;
END
$$;
