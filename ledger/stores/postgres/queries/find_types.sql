-- Type by type, so that each look-up has the whole key of its index, which has only events without an item. Types that
-- may have one are looked for in the stream itself. A last row without version says that the stream is a fork.
(
    SELECT f.version::bigint
    FROM (SELECT DISTINCT unnest(%(types)s::text[]) AS type) AS wanted
    CROSS JOIN LATERAL (
        SELECT e.version
        FROM ledger.events e
        WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
            AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.type = wanted.type
            AND e.item_id IS NULL AND e.version > %(after)s AND e.version <= %(until)s
        ORDER BY e.version
        LIMIT %(limit)s
    ) AS f
    ORDER BY f.version
    LIMIT %(limit)s
)
UNION ALL
(
    SELECT e.version::bigint
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND cardinality(%(item_types)s::text[]) > 0
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.type = ANY (%(item_types)s::text[])
        AND e.version > %(after)s AND e.version <= %(until)s
    ORDER BY e.version
    LIMIT %(limit)s
)
UNION ALL
SELECT NULL
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
ORDER BY version NULLS LAST
