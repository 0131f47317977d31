-- The head of a stream and of its parents, nearest first; it stops at a cycle, which only tampering can cause.
WITH RECURSIVE line AS (
    SELECT
        s.stream_id, s.user_id, s.session_id, s.version, s.head_hash, s.parent_id, s.parent_version,
        ARRAY[s.stream_id] AS path
    FROM ledger.streams s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s
    UNION ALL
    SELECT
        p.stream_id, p.user_id, p.session_id, p.version, p.head_hash, p.parent_id, p.parent_version,
        l.path || p.stream_id
    FROM line l
    JOIN ledger.streams p ON p.namespace_id = %(namespace)s AND p.stream_id = l.parent_id
    WHERE p.stream_id <> ALL (l.path)
)
SELECT
    l.stream_id, l.user_id::text, l.session_id::text, l.version, l.head_hash::bytea, l.parent_id,
    l.parent_version::bigint
FROM line l
ORDER BY cardinality(l.path)
