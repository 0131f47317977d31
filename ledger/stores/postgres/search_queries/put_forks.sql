-- Record what forks inherit: those that the changes open, and those that change what they inherited. Versions go on from
-- the parent's, so an event of a fork's ancestor is before the fork point, and after that of each ancestor further up.
WITH RECURSIVE given AS MATERIALIZED (
    SELECT g.*
    FROM unnest(
        CAST(:streams AS uuid[]), CAST(:versions AS bigint[]), CAST(:changes AS text[]), CAST(:firsts AS bigint[]),
        CAST(:lasts AS bigint[]), CAST(:items AS text[])
    ) AS g (stream_id, version, change, first, last, item_id)
), lineage AS ( -- UNION ends a cycle, which only tampering can cause
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
), new_changes AS (
    INSERT INTO ledger.search_fork_changes (
        namespace_id, projection_version, stream_id, version, erased, removed
    )
    SELECT
        CAST(:namespace AS uuid), CAST(:build AS integer), c.stream_id, c.version,
        coalesce(range_agg(c.versions) FILTER (WHERE c.change = 'erase'), '{}'),
        coalesce(range_agg(c.versions) FILTER (WHERE c.change <> 'erase'), '{}')
    FROM changed c
    GROUP BY c.stream_id, c.version
    RETURNING stream_id, version, erased, removed
), concerned AS (
    SELECT g.stream_id FROM given g WHERE g.change = 'fork'
    UNION
    SELECT n.stream_id FROM new_changes n
), line AS (
    SELECT i.stream_id, i.ancestor_id AS changed_id, i.until FROM inherited i
    UNION ALL
    SELECT c.stream_id, c.stream_id, 9223372036854775807 FROM concerned c
), all_changes AS (
    SELECT l.stream_id, c.version, c.erased, c.removed
    FROM line l
    JOIN ledger.search_fork_changes c ON c.namespace_id = :namespace AND c.projection_version = :build
        AND c.stream_id = l.changed_id AND c.version <= l.until
    WHERE l.stream_id IN (SELECT c.stream_id FROM concerned c)
    UNION ALL
    SELECT l.stream_id, n.version, n.erased, n.removed
    FROM line l
    JOIN new_changes n ON n.stream_id = l.changed_id AND n.version <= l.until
)
INSERT INTO ledger.search_forks (
    namespace_id, projection_version, stream_id, ancestor_id, until, "position", erased, removed, user_id, session_id
)
SELECT
    CAST(:namespace AS uuid), CAST(:build AS integer), i.stream_id, i.ancestor_id, i.until,
    coalesce((SELECT min(g.first) FROM given g WHERE g.stream_id = i.stream_id AND g.change = 'fork'), 1),
    coalesce(range_agg(a.erased), '{}'), coalesce(range_agg(a.removed), '{}'), i.user_id, i.session_id
FROM inherited i
LEFT JOIN all_changes a ON a.stream_id = i.stream_id AND a.version > i.until
WHERE i.stream_id IN (SELECT c.stream_id FROM concerned c)
GROUP BY i.stream_id, i.ancestor_id, i.until, i.user_id, i.session_id
ON CONFLICT (namespace_id, projection_version, stream_id, ancestor_id)
    DO UPDATE SET erased = excluded.erased, removed = excluded.removed
