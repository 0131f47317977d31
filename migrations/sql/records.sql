-- Long-term memory, folded from the log: a row per record, live or not. The record itself is the JSON of its fold; the
-- other columns are for filters and searches. Topics and entities are case-folded. The words of the text and the
-- namespace are in the vector.
CREATE TABLE ledger.records (
    namespace_id uuid NOT NULL,
    projection_version integer NOT NULL,
    stream_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    persisted_at timestamptz NOT NULL,
    event_date timestamptz,
    live boolean NOT NULL,
    record_id ledger.short_text NOT NULL,
    user_id ledger.short_text NOT NULL,
    session_id ledger.short_text,
    memory_type text NOT NULL,
    extraction_strategy ledger.short_text NOT NULL,
    topics text[] NOT NULL,
    entities text[] NOT NULL,
    identity ledger.hash NOT NULL,
    text_digest ledger.hash NOT NULL,
    record bytea NOT NULL,
    vector tsvector NOT NULL,
    PRIMARY KEY (namespace_id, projection_version, stream_id, record_id)
) WITH (fillfactor = 80);
CREATE INDEX records_id ON ledger.records (namespace_id, projection_version, record_id);
CREATE INDEX records_identity ON ledger.records (namespace_id, projection_version, stream_id, identity) WHERE live;
CREATE INDEX records_created_at ON ledger.records (namespace_id, projection_version, created_at DESC) WHERE live;
CREATE INDEX records_vector ON ledger.records USING gin (vector);
