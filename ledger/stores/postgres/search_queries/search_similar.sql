-- See queries/read_stream.sql for the shape.
SELECT
    e.stream_id, e.version, e.kind, e.piece, e."position", e.first_character, e.characters, e.user_id,
    e.session_id, 1 - d.distance AS score
FROM ledger.search_entries e
JOIN ledger.search_embeddings m USING (namespace_id, stream_id, version, kind, piece)
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN public.vector_dims(m.embedding) = %(dimensions)s
            THEN m.embedding OPERATOR(public.<=>) %(vector)s::public.vector
    END AS distance
) AS d
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND m.namespace_id = %(namespace)s
    AND e.projection_version = %(build)s AND m.model = %(model)s
    AND e.kind = ANY (%(kinds)s::text[])
    AND (%(include_erased)s OR NOT e.erased)
    AND (%(stream)s::uuid IS NULL OR e.stream_id = %(stream)s::uuid)
    AND (%(user)s::text IS NULL OR e.user_id = %(user)s::text)
    AND (%(collection)s::text IS NULL OR e.collection = %(collection)s::text)
    AND d.distance IS NOT NULL
ORDER BY d.distance, e."position" DESC, e.piece
LIMIT %(limit)s
