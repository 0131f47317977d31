INSERT INTO ledger.search_embeddings AS m (namespace_id, model, stream_id, version, kind, piece, embedding)
SELECT :namespace, :model, g.stream_id, g.version, g.kind, g.piece, CAST(g.embedding AS public.vector)
FROM unnest(
    CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:kinds AS text[]), CAST(:numbers AS integer[]),
    CAST(:embeddings AS text[])
) AS g (stream_id, version, kind, piece, embedding)
ON CONFLICT (namespace_id, model, stream_id, version, kind, piece) DO UPDATE SET embedding = excluded.embedding
