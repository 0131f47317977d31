-- The head of a stream and of its parents, nearest first; it stops at a cycle, which only tampering can cause.
SELECT l.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    WITH RECURSIVE line AS (
        SELECT s.stream_id, s.user_id, s.session_id, s.version, s.head_hash, s.parent_id, s.parent_version, 0 AS place
        FROM ledger.streams s
        WHERE s.namespace_id = ns.id AND s.stream_id = %(stream)s
        UNION ALL
        SELECT
            p.stream_id, p.user_id, p.session_id, p.version, p.head_hash, p.parent_id, p.parent_version, l.place + 1
        FROM line l
        JOIN ledger.streams p ON p.namespace_id = ns.id AND p.stream_id = l.parent_id
    ) CYCLE stream_id SET is_ring USING path
    SELECT
        line.stream_id, line.user_id::text, line.session_id::text, line.version, line.head_hash::bytea,
        line.parent_id, line.parent_version::bigint
    FROM line
    WHERE NOT line.is_ring
    ORDER BY line.place
    OFFSET 0
) AS l
