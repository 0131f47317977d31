-- A row per session, folded from the log, so that a listing need not read histories.
CREATE TABLE ledger.session_index (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    version bigint NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz,
    entries bigint NOT NULL,
    active bigint NOT NULL,
    summaries bigint NOT NULL,
    total_tokens bigint NOT NULL,
    active_tokens bigint NOT NULL,
    failed_compactions bigint NOT NULL,
    failing_since timestamptz,
    status text NOT NULL CHECK (status IN ('live', 'ended', 'unreadable')),
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    last_failure text,
    failing_model text,
    PRIMARY KEY (namespace_id, projection_version, stream_id)
) WITH (fillfactor = 80);
CREATE INDEX session_index_updated_at
    ON ledger.session_index (namespace_id, projection_version, updated_at DESC, stream_id);
