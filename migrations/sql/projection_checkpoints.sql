-- How far a stored projection has folded its namespace. A new version builds beside the live one.
CREATE TABLE ledger.projection_checkpoints (
    namespace_id uuid NOT NULL,
    projection ledger.short_text NOT NULL,
    projection_version integer NOT NULL,
    "position" bigint NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'live' CHECK (status IN ('building', 'live')),
    code_digest ledger.hash NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace_id, projection, projection_version)
) WITH (fillfactor = 50);

ALTER TABLE ledger.projection_checkpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger.projection_checkpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_isolation ON ledger.projection_checkpoints USING (
    array_position(
        (SELECT string_to_array(nullif(current_setting('ledger.namespace', true), ''), ',')::uuid[]), namespace_id
    ) IS NOT NULL
);
