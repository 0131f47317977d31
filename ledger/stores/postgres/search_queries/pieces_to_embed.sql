SELECT f.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT
        e.stream_id, e.version, e.kind, e.piece, e."position", e.first_character, e.characters, e.user_id,
        e.session_id, 0.0::double precision AS score
    FROM ledger.search_entries e
    WHERE e.namespace_id = ns.id AND e.projection_version = %(build)s AND e.words > 0
        AND NOT EXISTS (
            SELECT FROM ledger.search_embeddings m
            WHERE m.namespace_id = e.namespace_id AND m.model = %(model)s AND m.stream_id = e.stream_id
                AND m.version = e.version AND m.kind = e.kind AND m.piece = e.piece
        )
    ORDER BY e."position", e.piece
    LIMIT %(limit)s
) AS f
