-- The newest event about each kept value of a range of keys, in their order: a scan of the index of kept values, which
-- ends at the limit. A last row without item says that the stream is a fork.
(
    SELECT
        min(e.item_id), max(e.version)::bigint,
        max(e.version) = coalesce(max(e.version) FILTER (WHERE e.type = 'kept.removed'), 0) AS removed
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.type IN ('kept.removed', 'kept.set')
        AND e.item_id COLLATE "C" >= %(first)s AND e.item_id COLLATE "C" < %(end)s
        AND e.version > %(after)s AND e.version <= %(until)s
    GROUP BY e.item_id COLLATE "C"
    ORDER BY e.item_id COLLATE "C"
    LIMIT %(limit)s
)
UNION ALL
SELECT NULL, NULL, NULL
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
