-- Views of sessions that were served with messages left out, kept for a week: who writes such a view back has not
-- withdrawn what it never saw (http W-55). left_out holds the bounds of ranges of versions, flat.
CREATE TABLE ledger.served_views (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    view ledger.short_text NOT NULL,
    version ledger.ordinal NOT NULL,
    first_version ledger.ordinal NOT NULL,
    left_out bigint[] NOT NULL,
    served_at timestamptz NOT NULL,
    PRIMARY KEY (namespace_id, stream_id, view)
);

ALTER TABLE ledger.served_views ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.served_views FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON ledger.served_views USING (
    array_position(
        (SELECT string_to_array(nullif(current_setting('ledger.namespace', true), ''), ',')::uuid[]), namespace_id
    ) IS NOT NULL
);
REVOKE ALL ON ledger.served_views FROM PUBLIC;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON ledger.served_views TO ledger_app;
        GRANT SELECT ON ledger.served_views TO ledger_verifier;
        CREATE POLICY verifier_reads ON ledger.served_views FOR SELECT TO ledger_verifier USING (true);
    END IF;
END
$$;
