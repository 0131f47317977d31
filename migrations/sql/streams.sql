-- The head of each stream: where it is, and the hash the next event is chained to. What is not derived from
-- the events are the names, and those give the id (trust R-1). A fork goes on from a version of its parent, whose
-- history up to there is also its own; `append` records that with the first event and never changes it.
CREATE TABLE ledger.streams (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    ended boolean NOT NULL DEFAULT false,
    closed boolean NOT NULL DEFAULT false,
    head_hash ledger.hash NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    config_digest ledger.hash,
    parent_id uuid,
    parent_version ledger.ordinal,
    PRIMARY KEY (namespace_id, stream_id),
    CHECK ((parent_id IS NULL) = (parent_version IS NULL))
) WITH (fillfactor = 70);

-- Not starting with namespace_id, lest the planner take it for the primary key's work: measured at forty
-- times the cost of an append.
CREATE INDEX streams_session_id ON ledger.streams (session_id, namespace_id);
