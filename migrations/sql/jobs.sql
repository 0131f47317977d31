-- Background work, folded from the log: at most one job of each kind per session. Only the projection adds and deletes
-- rows; attempts and leases belong to the workers and are not part of the history.
CREATE TABLE ledger.jobs (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    leased_until timestamptz,
    attempts integer NOT NULL DEFAULT 0,
    kind text NOT NULL CHECK (kind IN ('compact', 'extract', 'promote', 'index', 'summarize')),
    work ledger.short_text NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    leased_by ledger.short_text,
    last_error ledger.short_text,
    PRIMARY KEY (namespace_id, projection_version, stream_id, kind)
) WITH (fillfactor = 50);
-- By kind: jobs of a kind that no worker does wait, and must not be in the way of others.
CREATE INDEX jobs_due_at ON ledger.jobs (namespace_id, kind, due_at);
