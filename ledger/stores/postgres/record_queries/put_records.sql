-- Insert or replace the records of pages.
INSERT INTO ledger.records AS r (
    namespace_id, projection_version, stream_id, created_at, persisted_at, event_date, live, record_id, user_id,
    session_id, memory_type, extraction_strategy, topics, entities, identity, text_digest, record, vector
)
SELECT
    g.namespace_id, g.build, g.stream_id, g.created_at, g.persisted_at, g.event_date, g.live, g.record_id, g.user_id,
    g.session_id, g.memory_type, g.extraction_strategy,
    ARRAY(SELECT jsonb_array_elements_text(CAST(g.topics AS jsonb))),
    ARRAY(SELECT jsonb_array_elements_text(CAST(g.entities AS jsonb))),
    g.identity, g.text_digest, g.record,
    CAST(g.stems AS tsvector) || array_to_tsvector(ARRAY[CAST(g.namespace_id AS text)])
FROM unnest(
    CAST(:namespace AS uuid[]), CAST(:build AS integer[]),
    CAST(:stream_id AS uuid[]), CAST(:created_at AS timestamptz[]), CAST(:persisted_at AS timestamptz[]),
    CAST(:event_date AS timestamptz[]), CAST(:live AS boolean[]), CAST(:record_id AS text[]), CAST(:user_id AS text[]),
    CAST(:session_id AS text[]), CAST(:memory_type AS text[]), CAST(:extraction_strategy AS text[]),
    CAST(:topics AS text[]), CAST(:entities AS text[]), CAST(:identity AS bytea[]), CAST(:text_digest AS bytea[]),
    CAST(:record AS bytea[]), CAST(:stems AS text[])
) AS g (
    namespace_id, build, stream_id, created_at, persisted_at, event_date, live, record_id, user_id, session_id,
    memory_type, extraction_strategy, topics, entities, identity, text_digest, record, stems
)
ON CONFLICT (namespace_id, projection_version, stream_id, record_id) DO UPDATE SET
    created_at = excluded.created_at, persisted_at = excluded.persisted_at, event_date = excluded.event_date,
    live = excluded.live, session_id = excluded.session_id, memory_type = excluded.memory_type,
    extraction_strategy = excluded.extraction_strategy, topics = excluded.topics, entities = excluded.entities,
    identity = excluded.identity, text_digest = excluded.text_digest, record = excluded.record,
    vector = excluded.vector
