-- When records were last read, and how often. Reads are counted with a minimum interval. They are not part of the
-- history or of a build, so they survive a rebuild.
CREATE TABLE ledger.record_accesses (
    namespace_id uuid NOT NULL,
    stream_id uuid NOT NULL,
    record_id ledger.short_text NOT NULL,
    last_accessed timestamptz NOT NULL,
    access_count bigint NOT NULL,
    PRIMARY KEY (namespace_id, stream_id, record_id)
) WITH (fillfactor = 80);
