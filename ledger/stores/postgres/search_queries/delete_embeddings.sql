DELETE FROM ledger.search_embeddings m
USING unnest(
    CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:kinds AS text[]), CAST(:numbers AS integer[]),
    CAST(:added AS bigint[])
) AS g (stream_id, version, kind, piece, added_in)
WHERE m.namespace_id = :namespace AND m.stream_id = g.stream_id AND m.version = g.version AND m.kind = g.kind
    AND m.piece = g.piece AND m.added_in = g.added_in
