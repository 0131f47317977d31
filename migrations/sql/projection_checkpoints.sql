-- How far each build of a stored projection has folded its namespace. A new build does not disturb the live one.
CREATE TABLE ledger.projection_checkpoints (
    namespace_id uuid NOT NULL,
    projection ledger.short_text NOT NULL,
    projection_version integer NOT NULL,
    "position" bigint NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'live' CHECK (status IN ('building', 'live')),
    code_digest ledger.hash NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- the process that folds it, so that others wait instead of folding the same
    claimed_by text,
    claimed_until timestamptz,
    -- why the next event cannot be folded, for operators
    last_error text,
    PRIMARY KEY (namespace_id, projection, projection_version)
) WITH (fillfactor = 50);
