-- The position of the first event about a record in each of several namespaces; nothing before it is about records.
SELECT s.namespace_id, min(e."position")
FROM unnest(%(namespaces)s::uuid[]) AS g (namespace)
CROSS JOIN LATERAL (
    SELECT h.namespace_id, h.stream_id
    FROM ledger.streams h
    WHERE h.session_id = %(records)s AND h.namespace_id = g.namespace
    OFFSET 0
) AS s
CROSS JOIN LATERAL (
    SELECT i.namespace_id, i."position"
    FROM ledger.events i
    WHERE i.namespace_id = s.namespace_id AND i.stream_id = s.stream_id AND i.version <= 1
    ORDER BY i.version
    LIMIT 1
    OFFSET 0
) AS e
WHERE (SELECT set_config('ledger.namespace', array_to_string(%(namespaces)s::uuid[], ','), true)) IS NOT NULL
    AND s.namespace_id = ANY (%(namespaces)s::uuid[]) AND e.namespace_id = ANY (%(namespaces)s::uuid[])
GROUP BY s.namespace_id
