-- See queries/read_stream.sql for the shape.
SELECT
    e.stream_id, e.version, e.kind, e.piece, e."position", e.first_character, e.characters, e.user_id,
    e.session_id, 0.0::double precision AS score
FROM ledger.search_entries e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.projection_version = %(build)s AND e.words > 0
    AND NOT EXISTS (
        SELECT FROM ledger.search_embeddings m
        WHERE m.namespace_id = %(namespace)s AND m.model = %(model)s AND m.stream_id = e.stream_id
            AND m.version = e.version AND m.kind = e.kind AND m.piece = e.piece
    )
ORDER BY e."position", e.piece
LIMIT %(limit)s
