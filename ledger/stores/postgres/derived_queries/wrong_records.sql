-- Those of the given records whose row is missing or says something else.
SELECT g.record_id
FROM unnest(
    CAST(:stream_id AS uuid[]), CAST(:created_at AS timestamptz[]), CAST(:persisted_at AS timestamptz[]),
    CAST(:event_date AS timestamptz[]), CAST(:live AS boolean[]), CAST(:record_id AS text[]), CAST(:user_id AS text[]),
    CAST(:session_id AS text[]), CAST(:memory_type AS text[]), CAST(:extraction_strategy AS text[]),
    CAST(:topics AS text[]), CAST(:entities AS text[]), CAST(:identity AS bytea[]), CAST(:text_digest AS bytea[]),
    CAST(:record AS bytea[]), CAST(:stems AS text[])
) AS g (
    stream_id, created_at, persisted_at, event_date, live, record_id, user_id, session_id, memory_type,
    extraction_strategy, topics, entities, identity, text_digest, record, stems
)
LEFT JOIN ledger.records r ON r.namespace_id = :namespace AND r.projection_version = :build
    AND r.stream_id = g.stream_id AND r.record_id = g.record_id
WHERE (
    g.created_at, g.persisted_at, g.event_date, g.live, g.user_id, g.session_id, g.memory_type,
    g.extraction_strategy, ARRAY(SELECT jsonb_array_elements_text(CAST(g.topics AS jsonb))),
    ARRAY(SELECT jsonb_array_elements_text(CAST(g.entities AS jsonb))),
    g.identity, g.text_digest, g.record,
    CAST(g.stems AS tsvector) || array_to_tsvector(ARRAY[CAST(CAST(:namespace AS uuid) AS text)])
) IS DISTINCT FROM (
    r.created_at, r.persisted_at, r.event_date, r.live, r.user_id, r.session_id, r.memory_type,
    r.extraction_strategy, r.topics, r.entities, r.identity, r.text_digest, r.record, r.vector
)
