-- Forks of which search says other changes than those given, or that they inherit something else than the streams and the
-- changes say; see search_queries/put_forks.sql.
WITH RECURSIVE given AS MATERIALIZED (
    SELECT g.*
    FROM unnest(
        CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:changes AS text[]), CAST(:firsts AS bigint[]),
        CAST(:lasts AS bigint[]), CAST(:items AS text[])
    ) AS g (stream_id, version, change, first, last, item_id)
), lineage AS (
    SELECT s.stream_id, s.user_id, s.session_id, s.parent_id AS ancestor_id, CAST(s.parent_version AS bigint) AS until
    FROM ledger.streams s
    WHERE s.namespace_id = :namespace AND s.stream_id IN (SELECT g.stream_id FROM given g) AND s.parent_id IS NOT NULL
    UNION
    SELECT l.stream_id, l.user_id, l.session_id, p.parent_id, least(l.until, p.parent_version)
    FROM lineage l
    JOIN ledger.streams p ON p.namespace_id = :namespace AND p.stream_id = l.ancestor_id
    WHERE p.parent_id IS NOT NULL
), inherited AS MATERIALIZED (
    SELECT l.stream_id, l.user_id, l.session_id, l.ancestor_id, max(l.until) AS until
    FROM lineage l
    GROUP BY l.stream_id, l.user_id, l.session_id, l.ancestor_id
), reached AS (
    SELECT i.stream_id, max(i.until) AS until FROM inherited i GROUP BY i.stream_id
), changed AS (
    SELECT g.stream_id, g.version, g.change, int8range(g.first, least(g.last, r.until), '[]') AS versions
    FROM given g
    JOIN reached r ON r.stream_id = g.stream_id
    WHERE g.change IN ('withdraw', 'erase', 'forget', 'end') AND g.first <= r.until
    UNION ALL
    SELECT g.stream_id, g.version, g.change, int8range(e.version, e.version, '[]')
    FROM given g
    JOIN inherited i ON i.stream_id = g.stream_id
    JOIN ledger.search_entries e ON e.namespace_id = :namespace AND e.projection_version = :build
        AND e.stream_id = i.ancestor_id AND e.kind = 'summary' AND e.item_id = g.item_id AND e.version <= i.until
    WHERE g.change = 'fold'
), expected_changes AS (
    SELECT
        c.stream_id, c.version,
        coalesce(range_agg(c.versions) FILTER (WHERE c.change = 'erase'), '{}') AS erased,
        coalesce(range_agg(c.versions) FILTER (WHERE c.change <> 'erase'), '{}') AS removed
    FROM changed c
    GROUP BY c.stream_id, c.version
), line AS (
    SELECT i.stream_id, i.ancestor_id AS changed_id, i.until FROM inherited i
    UNION ALL
    SELECT r.stream_id, r.stream_id, 9223372036854775807 FROM reached r
), all_changes AS (
    SELECT l.stream_id, c.version, c.erased, c.removed
    FROM line l
    JOIN ledger.search_fork_changes c ON c.namespace_id = :namespace AND c.projection_version = :build
        AND c.stream_id = l.changed_id AND c.version <= l.until
), expected_forks AS (
    SELECT
        i.stream_id, i.ancestor_id, i.until,
        (SELECT min(g.first) FROM given g WHERE g.stream_id = i.stream_id AND g.change = 'fork') AS "position",
        coalesce(range_agg(a.erased), '{}') AS erased, coalesce(range_agg(a.removed), '{}') AS removed,
        i.user_id, i.session_id
    FROM inherited i
    LEFT JOIN all_changes a ON a.stream_id = i.stream_id AND a.version > i.until
    WHERE i.stream_id IN (SELECT g.stream_id FROM given g WHERE g.change = 'fork')
    GROUP BY i.stream_id, i.ancestor_id, i.until, i.user_id, i.session_id
)
SELECT coalesce(x.stream_id, c.stream_id)
FROM expected_changes x
FULL JOIN (
    SELECT c.*
    FROM ledger.search_fork_changes c
    WHERE c.namespace_id = :namespace AND c.projection_version = :build
        AND c.stream_id = ANY (CAST(:checked AS uuid[]))
) AS c ON c.stream_id = x.stream_id AND c.version = x.version
WHERE (x.erased, x.removed) IS DISTINCT FROM (c.erased, c.removed)
UNION
SELECT coalesce(x.stream_id, f.stream_id)
FROM expected_forks x
FULL JOIN (
    SELECT f.*
    FROM ledger.search_forks f
    WHERE f.namespace_id = :namespace AND f.projection_version = :build
        AND f.stream_id = ANY (CAST(:checked AS uuid[]))
) AS f ON f.stream_id = x.stream_id AND f.ancestor_id = x.ancestor_id
WHERE (x.until, x."position", x.erased, x.removed, x.user_id, x.session_id)
    IS DISTINCT FROM (f.until::bigint, f."position"::bigint, f.erased, f.removed, f.user_id, f.session_id)
