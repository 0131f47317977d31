-- Every event about the kept values of a range of keys; see find_kept.sql.
(
    SELECT e.item_id::text, e.version::bigint, e.type = 'kept.removed' AS removed
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.type IN ('kept.removed', 'kept.set')
        AND e.item_id COLLATE "C" >= %(first)s AND e.item_id COLLATE "C" < %(end)s
        AND e.version > %(after)s AND e.version <= %(until)s
    ORDER BY e.item_id COLLATE "C", e.version
    LIMIT %(limit)s
)
UNION ALL
SELECT NULL, NULL, NULL
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
