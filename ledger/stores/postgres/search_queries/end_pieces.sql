-- Note at which version pieces were removed from the session that added them. Those that no fork inherited before that
-- are shown no more: their words are not counted, and their keys are returned.
WITH given AS MATERIALIZED (
    SELECT g.*
    FROM unnest(
        CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:changes AS text[]), CAST(:firsts AS bigint[]),
        CAST(:lasts AS bigint[]), CAST(:items AS text[])
    ) AS g (stream_id, version, change, first, last, item_id)
), removed AS (
    SELECT e.stream_id, e.version, e.kind, e.piece, e.added_in, g.version AS removed_in
    FROM given g
    JOIN ledger.search_entries e ON e.namespace_id = :namespace AND e.projection_version = :build
        AND e.stream_id = g.stream_id AND e.version = g.first AND e.kind = 'entry'
    WHERE g.change = 'withdraw' AND e.removed_in IS NULL AND e.added_in < g.version
    UNION ALL
    SELECT e.stream_id, e.version, e.kind, e.piece, e.added_in, g.version
    FROM given g
    JOIN ledger.search_entries e ON e.namespace_id = :namespace AND e.projection_version = :build
        AND e.stream_id = g.stream_id AND e.item_id = g.item_id AND e.kind <> 'entry'
    WHERE g.change = 'fold' AND e.removed_in IS NULL AND e.added_in < g.version
    UNION ALL
    SELECT e.stream_id, e.version, e.kind, e.piece, e.added_in, g.version
    FROM given g
    JOIN ledger.search_entries e ON e.namespace_id = :namespace AND e.projection_version = :build
        AND e.stream_id = g.stream_id AND (g.change = 'end' OR e.kind <> 'knowledge')
    WHERE g.change IN ('forget', 'end') AND e.removed_in IS NULL AND e.added_in < g.version
), first_removed AS (
    SELECT r.stream_id, r.version, r.kind, r.piece, r.added_in, min(r.removed_in) AS removed_in
    FROM removed r
    GROUP BY r.stream_id, r.version, r.kind, r.piece, r.added_in
), ended AS (
    UPDATE ledger.search_entries e
    SET removed_in = r.removed_in,
        shown = e.kind <> 'knowledge' AND EXISTS (
            SELECT FROM ledger.search_forks f
            WHERE f.namespace_id = :namespace AND f.projection_version = :build AND f.ancestor_id = e.stream_id
                AND f.until >= e.added_in AND f.until < r.removed_in
        )
    FROM first_removed r
    WHERE e.namespace_id = :namespace AND e.projection_version = :build AND e.stream_id = r.stream_id
        AND e.version = r.version AND e.kind = r.kind AND e.piece = r.piece AND e.added_in = r.added_in
    RETURNING e.stream_id, e.version, e.kind, e.piece, e.added_in, e.shown, e.words, e.vector
), lost AS (
    SELECT w.lexeme, count(*) AS pieces, 0 AS words
    FROM ended e
    CROSS JOIN LATERAL unnest(e.vector) AS w
    WHERE NOT e.shown
    GROUP BY w.lexeme
    UNION ALL
    SELECT '', count(*), coalesce(sum(e.words), 0) FROM ended e WHERE NOT e.shown
), uncounted AS (
    UPDATE ledger.search_terms t SET pieces = t.pieces - l.pieces, words = t.words - l.words
    FROM lost l
    WHERE t.namespace_id = :namespace AND t.projection_version = :build AND t.lexeme = l.lexeme AND t.pieces > l.pieces
), unused AS (
    DELETE FROM ledger.search_terms t
    USING lost l
    WHERE t.namespace_id = :namespace AND t.projection_version = :build AND t.lexeme = l.lexeme AND t.pieces <= l.pieces
)
SELECT e.stream_id, e.version, e.kind, e.piece, e.added_in FROM ended e WHERE NOT e.shown
