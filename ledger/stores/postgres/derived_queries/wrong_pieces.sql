-- Streams that have other pieces in the given versions than those given. Pieces of knowledge are left out: a splitter makes
-- them.
SELECT DISTINCT coalesce(g.stream_id, e.stream_id)
FROM (
    SELECT
        g.*, CAST(g.stems AS tsvector) AS vector, s.user_id, s.session_id,
        g.removed_in IS NULL OR EXISTS (
            SELECT FROM ledger.search_forks f
            WHERE f.namespace_id = :namespace AND f.projection_version = :build AND f.ancestor_id = g.stream_id
                AND f.until >= g.added_in AND f.until < g.removed_in
        ) AS shown
    FROM unnest(
        CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:kinds AS text[]), CAST(:numbers AS integer[]),
        CAST(:added AS bigint[]), CAST(:erased AS bigint[]), CAST(:removed AS bigint[]), CAST(:positions AS bigint[]),
        CAST(:firsts AS integer[]), CAST(:sizes AS integer[]), CAST(:items AS text[]), CAST(:words AS integer[]),
        CAST(:days AS date[]), CAST(:languages AS text[]), CAST(:stems AS text[])
    ) AS g (
        stream_id, version, kind, piece, added_in, erased_in, removed_in, "position", first_character, characters, item_id,
        words, said_on, language, stems
    )
    JOIN ledger.streams s ON s.namespace_id = :namespace AND s.stream_id = g.stream_id
) AS g
FULL JOIN (
    SELECT e.*
    FROM unnest(CAST(:parts AS uuid[]), CAST(:afters AS bigint[]), CAST(:untils AS bigint[])) AS p (stream_id, after, until)
    JOIN ledger.search_entries e ON e.namespace_id = :namespace AND e.projection_version = :build
        AND e.stream_id = p.stream_id AND e.version > p.after AND e.version <= p.until AND e.kind <> 'knowledge'
) AS e ON e.stream_id = g.stream_id AND e.version = g.version AND e.kind = g.kind AND e.piece = g.piece
    AND e.added_in = g.added_in
WHERE (
    g."position", g.first_character, g.characters, g.words, g.said_on, g.language, g.item_id, g.erased_in, g.removed_in, g.shown,
    g.user_id, g.session_id, NULL::text, g.vector
) IS DISTINCT FROM (
    e."position", e.first_character, e.characters, e.words, e.said_on, e.language, e.item_id, e.erased_in::bigint, e.removed_in::bigint, e.shown,
    e.user_id, e.session_id, e.collection::text, e.vector
)
