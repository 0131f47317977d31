-- The head of a stream and of all forks of it and of these, parents first, as many as asked for. An index finds the forks
-- of a stream; see read_stream.sql for the shape.
WITH RECURSIVE family AS (
    SELECT s.stream_id, s.user_id, s.session_id, s.version, s.head_hash, s.parent_id, s.parent_version
    FROM ledger.streams s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s
    UNION ALL
    SELECT c.stream_id, c.user_id, c.session_id, c.version, c.head_hash, c.parent_id, c.parent_version
    FROM family f
    CROSS JOIN LATERAL (
        SELECT o.*
        FROM ledger.streams o
        WHERE o.parent_id = f.stream_id AND o.namespace_id = %(namespace)s
        OFFSET 0
    ) AS c
)
SELECT
    f.stream_id, f.user_id::text, f.session_id::text, f.version, f.head_hash::bytea, f.parent_id, f.parent_version::bigint
FROM family f
LIMIT %(limit)s
