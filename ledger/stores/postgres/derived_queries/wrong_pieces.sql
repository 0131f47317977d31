-- Versions of a stream whose pieces are not those given. Those of knowledge are left out: a splitter makes them.
SELECT DISTINCT coalesce(g.version, e.version)
FROM (
    SELECT g.*, to_tsvector(CAST(:language AS regconfig), g.body) AS vector, s.user_id, s.session_id
    FROM unnest(
        CAST(:versions AS bigint[]), CAST(:kinds AS text[]), CAST(:numbers AS integer[]), CAST(:positions AS bigint[]),
        CAST(:firsts AS integer[]), CAST(:sizes AS integer[]), CAST(:items AS text[]), CAST(:texts AS text[]),
        CAST(:erased AS boolean[])
    ) AS g (version, kind, piece, "position", first_character, characters, item_id, body, erased)
    CROSS JOIN ledger.streams s
    WHERE s.namespace_id = :namespace AND s.stream_id = :stream
) AS g
FULL JOIN (
    SELECT *
    FROM ledger.search_entries
    WHERE namespace_id = :namespace AND projection_version = :build AND stream_id = :stream
        AND version > :after AND version <= :until AND kind <> 'knowledge'
) AS e ON e.version = g.version AND e.kind = g.kind AND e.piece = g.piece
WHERE (
    g."position", g.first_character, g.characters, length(g.vector), g.item_id, g.erased, g.user_id, g.session_id,
    NULL::text, g.vector
) IS DISTINCT FROM (
    e."position", e.first_character, e.characters, e.words, e.item_id, e.erased, e.user_id, e.session_id,
    e.collection::text, e.vector
)
ORDER BY 1
