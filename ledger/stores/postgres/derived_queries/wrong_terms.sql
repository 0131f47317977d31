-- The number of words whose count is not that of the pieces, as one statement sees both.
SELECT count(*)
FROM (
    SELECT w.lexeme, count(*) AS pieces, 0::bigint AS words
    FROM ledger.search_entries e
    CROSS JOIN LATERAL unnest(e.vector) AS w
    WHERE e.namespace_id = :namespace AND e.projection_version = :build AND e.shown
    GROUP BY w.lexeme
    UNION ALL
    SELECT '', count(*), coalesce(sum(e.words), 0)::bigint
    FROM ledger.search_entries e
    WHERE e.namespace_id = :namespace AND e.projection_version = :build AND e.shown
    HAVING count(*) > 0
) AS counted
FULL JOIN (
    SELECT t.lexeme, t.pieces, t.words
    FROM ledger.search_terms t
    WHERE t.namespace_id = :namespace AND t.projection_version = :build AND t.pieces <> 0
) AS stored ON stored.lexeme = counted.lexeme
WHERE (counted.pieces, counted.words) IS DISTINCT FROM (stored.pieces, stored.words)
