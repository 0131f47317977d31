-- See queries/read_stream.sql for the shape.
SELECT
    o.stream_id, o.user_id, o.session_id, e.stream_id AS origin_id, e.added_in, e.version, e.kind, e.piece,
    e."position", e.first_character, e.characters, 0.0::double precision AS score
FROM ledger.search_entries e
CROSS JOIN LATERAL (
    SELECT e.stream_id, e.user_id, e.session_id
    WHERE e.removed_in IS NULL
    UNION ALL
    (
        SELECT f.stream_id, f.user_id, f.session_id
        FROM ledger.search_forks f
        WHERE e.removed_in IS NOT NULL AND f.namespace_id = %(namespace)s AND f.projection_version = %(build)s
            AND f.ancestor_id = e.stream_id AND f.until >= e.added_in AND f.until < e.removed_in
            AND NOT f.removed @> e.version::bigint
        ORDER BY f."position"
        LIMIT 1
    )
) AS o
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.projection_version = %(build)s AND e.shown AND e.words > 0
    AND NOT EXISTS (
        SELECT FROM ledger.search_embeddings m
        WHERE m.namespace_id = %(namespace)s AND m.model = %(model)s AND m.stream_id = e.stream_id
            AND m.version = e.version AND m.kind = e.kind AND m.piece = e.piece AND m.added_in = e.added_in
    )
ORDER BY e."position", e.piece
LIMIT %(limit)s
