-- What is left to do in the background, folded from the log: at most one job of a kind for each session.
-- Rows come and go with the projection only; attempts and leases are the workers', and no history.
CREATE TABLE ledger.jobs (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    leased_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    kind text NOT NULL CHECK (kind IN ('compact', 'extract', 'promote', 'index')),
    work ledger.short_text NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    leased_by ledger.short_text,
    last_error ledger.short_text,
    PRIMARY KEY (namespace_id, projection_version, stream_id, kind)
) WITH (fillfactor = 50);
CREATE INDEX jobs_due_at ON ledger.jobs (namespace_id, projection_version, due_at);
