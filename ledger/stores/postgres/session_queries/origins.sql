-- Where some sessions were forked; those that were not are left out.
SELECT g.stream, p.user_id, p.session_id, s.parent_version
FROM unnest(CAST(:streams AS uuid[])) AS g (stream)
CROSS JOIN LATERAL (
    SELECT i.parent_id, i.parent_version
    FROM ledger.streams i
    WHERE i.namespace_id = :namespace AND i.stream_id = g.stream AND i.parent_id IS NOT NULL
    OFFSET 0
) AS s
CROSS JOIN LATERAL (
    SELECT o.user_id, o.session_id
    FROM ledger.streams o
    WHERE o.namespace_id = :namespace AND o.stream_id = s.parent_id
    OFFSET 0
) AS p
