-- See queries/read_stream.sql for the shape, and ledger.search for the session that a piece is found in. The vectors are
-- all of the table, or the nearest by an index.
SELECT
    o.stream_id, o.user_id, o.session_id, e.stream_id AS origin_id, e.added_in, e.version, e.kind, e.piece,
    e."position", e.first_character, e.characters, 1 - d.distance AS score
FROM ledger.search_entries e
JOIN {vectors} m USING (namespace_id, stream_id, version, kind, piece, added_in)
CROSS JOIN LATERAL (
    SELECT e.removed_in IS NULL AND (%(include_erased)s OR e.erased_in IS NULL)
        AND (%(stream)s::uuid IS NULL OR e.stream_id = %(stream)s::uuid)
        AND (%(user)s::text IS NULL OR e.user_id = %(user)s::text) AS has_it
) AS own
CROSS JOIN LATERAL (
    SELECT e.stream_id, e.user_id, e.session_id
    WHERE own.has_it
    UNION ALL
    (
        SELECT f.stream_id, f.user_id, f.session_id
        FROM ledger.search_forks f
        WHERE NOT own.has_it AND e.kind <> 'knowledge'
            AND f.namespace_id = %(namespace)s AND f.projection_version = %(build)s AND f.ancestor_id = e.stream_id
            AND f.until >= e.added_in AND coalesce(f.until < e.removed_in, true)
            AND NOT f.removed @> e.version::bigint
            AND (
                %(include_erased)s
                OR (
                    coalesce(f.until < e.erased_in, true)
                    AND (e.kind <> 'entry' OR NOT f.erased @> e.version::bigint)
                )
            )
            AND (%(stream)s::uuid IS NULL OR f.stream_id = %(stream)s::uuid)
            AND (%(user)s::text IS NULL OR f.user_id = %(user)s::text)
        ORDER BY f."position"
        LIMIT 1
    )
) AS o
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN public.vector_dims(m.embedding) = %(dimensions)s
            THEN m.embedding OPERATOR(public.<=>) %(vector)s::public.vector
    END AS distance
) AS d
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND m.namespace_id = %(namespace)s
    AND e.projection_version = %(build)s AND m.model = %(model)s
    AND e.shown AND e.kind = ANY (%(kinds)s::text[])
    AND (
        %(stream)s::uuid IS NULL OR e.stream_id = %(stream)s::uuid
        OR e.stream_id IN (
            SELECT f.ancestor_id
            FROM ledger.search_forks f
            WHERE f.namespace_id = %(namespace)s AND f.projection_version = %(build)s
                AND f.stream_id = %(stream)s::uuid
        )
    )
    AND (%(collection)s::text IS NULL OR e.collection = %(collection)s::text)
    AND d.distance IS NOT NULL
ORDER BY d.distance, e."position" DESC, e.piece, e.added_in DESC
LIMIT %(limit)s
