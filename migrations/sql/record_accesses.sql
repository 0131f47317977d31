-- When records were last read, and how often: noted at most every so often, no part of history, and no part of a
-- build, so that a rebuild keeps it.
CREATE TABLE ledger.record_accesses (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    record_id ledger.short_text NOT NULL,
    last_accessed timestamptz NOT NULL,
    access_count bigint NOT NULL,
    PRIMARY KEY (namespace_id, stream_id, record_id)
) WITH (fillfactor = 80);
