INSERT INTO ledger.records AS r (
    namespace_id, projection_version, stream_id, created_at, persisted_at, event_date, live, record_id, user_id,
    session_id, memory_type, extraction_strategy, topics, entities, identity, text_digest, record, vector
)
VALUES (
    :namespace, :build, :stream_id, :created_at, :persisted_at, :event_date, :live, :record_id, :user_id,
    :session_id, :memory_type, :extraction_strategy, CAST(:topics AS text[]), CAST(:entities AS text[]), :identity,
    :text_digest, :record, to_tsvector(CAST(:language AS regconfig), :body)
)
ON CONFLICT (namespace_id, projection_version, stream_id, record_id) DO UPDATE SET
    created_at = excluded.created_at, persisted_at = excluded.persisted_at, event_date = excluded.event_date,
    live = excluded.live, session_id = excluded.session_id, memory_type = excluded.memory_type,
    extraction_strategy = excluded.extraction_strategy, topics = excluded.topics, entities = excluded.entities,
    identity = excluded.identity, text_digest = excluded.text_digest, record = excluded.record,
    vector = excluded.vector
