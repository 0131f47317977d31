-- Show the pieces again that forks inherit from before their removal, and count their words.
WITH inherited AS (
    UPDATE ledger.search_entries e SET shown = true
    FROM ledger.search_forks f
    WHERE f.namespace_id = :namespace AND f.projection_version = :build AND f.stream_id = ANY (CAST(:forks AS uuid[]))
        AND e.namespace_id = :namespace AND e.projection_version = :build AND e.stream_id = f.ancestor_id
        AND NOT e.shown AND e.removed_in > f.until AND e.added_in <= f.until AND e.kind <> 'knowledge'
    RETURNING e.words, e.vector
)
INSERT INTO ledger.search_terms AS t (namespace_id, projection_version, lexeme, pieces, words)
SELECT CAST(:namespace AS uuid), CAST(:build AS integer), w.lexeme, count(*), 0
FROM inherited i
CROSS JOIN LATERAL unnest(i.vector) AS w
GROUP BY w.lexeme
UNION ALL
SELECT CAST(:namespace AS uuid), CAST(:build AS integer), '', count(*), sum(i.words)
FROM inherited i
HAVING count(*) > 0
ON CONFLICT (namespace_id, projection_version, lexeme)
    DO UPDATE SET pieces = t.pieces + excluded.pieces, words = t.words + excluded.words
