-- The sessions whose events name a run, and the forks that were made of them after such an event. The ranges of one value
-- have an order, which makes the planner use the indexes on runs and on parents, whatever it knows about the tables.
WITH RECURSIVE found AS (
    SELECT r.stream_id, r.version
    FROM (
        SELECT i.stream_id, i.version
        FROM ledger.session_runs i
        WHERE i.namespace_id = :namespace AND i.projection_version = :build
            AND i.run_id COLLATE "C" BETWEEN :run_id AND :run_id
        ORDER BY i.run_id COLLATE "C"
        OFFSET 0
    ) AS r
    UNION
    SELECT c.stream_id, f.version
    FROM found f
    CROSS JOIN LATERAL (
        SELECT s.stream_id
        FROM ledger.streams s
        WHERE s.parent_id BETWEEN f.stream_id AND f.stream_id AND s.namespace_id = :namespace
            AND s.parent_version >= f.version
        ORDER BY s.parent_id
        OFFSET 0
    ) AS c
)
SELECT DISTINCT f.stream_id FROM found f
