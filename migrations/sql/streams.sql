-- The head of each stream: its version, and the hash that the next event is chained to. All but the names is derived
-- from the events, and the names give the id (trust R-1). A fork starts at a version of its parent and shares the
-- parent's history up to there; `append` stores that with the first event and never changes it.
CREATE TABLE ledger.streams (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    closed boolean NOT NULL DEFAULT false,
    head_hash ledger.hash NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text NOT NULL,
    parent_id uuid,
    parent_version ledger.ordinal,
    PRIMARY KEY (namespace_id, stream_id),
    CHECK ((parent_id IS NULL) = (parent_version IS NULL))
) WITH (fillfactor = 70);

-- It does not start with namespace_id: the planner would use it instead of the primary key, which made an append forty
-- times slower.
CREATE INDEX streams_session_id ON ledger.streams (session_id, namespace_id);

-- For the forks of a session. A session that is no fork costs nothing, and an append never changes it.
CREATE INDEX streams_parent_id ON ledger.streams (parent_id) WHERE parent_id IS NOT NULL;
