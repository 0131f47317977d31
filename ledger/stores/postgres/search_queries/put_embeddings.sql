INSERT INTO ledger.search_embeddings AS m (
    namespace_id, model, stream_id, version, kind, piece, added_in, embedding
)
SELECT :namespace, :model, g.stream_id, g.version, g.kind, g.piece, g.added_in, CAST(g.embedding AS public.vector)
FROM unnest(
    CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:kinds AS text[]), CAST(:numbers AS integer[]),
    CAST(:added AS bigint[]), CAST(:embeddings AS text[])
) AS g (stream_id, version, kind, piece, added_in, embedding)
ON CONFLICT (namespace_id, model, stream_id, version, kind, piece, added_in)
    DO UPDATE SET embedding = excluded.embedding
