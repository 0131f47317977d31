INSERT INTO ledger.record_embeddings (namespace_id, model, stream_id, record_id, text_digest, embedding)
SELECT g.namespace_id, :model, g.stream_id, g.record_id, g.text_digest, CAST(g.embedding AS public.vector)
FROM unnest(
    CAST(:namespaces AS uuid[]), CAST(:streams AS uuid[]), CAST(:ids AS text[]), CAST(:digests AS bytea[]),
    CAST(:embeddings AS text[])
) AS g (namespace_id, stream_id, record_id, text_digest, embedding)
ON CONFLICT (namespace_id, model, stream_id, record_id)
    DO UPDATE SET text_digest = excluded.text_digest, embedding = excluded.embedding
