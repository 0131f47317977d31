-- A last row without item says that the stream is a fork, whose parents must be read too.
SELECT f.item_id, f.version
FROM ledger.find_items(%(namespace)s, %(stream)s, %(items)s) AS f
UNION ALL
SELECT NULL, s.parent_version
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
ORDER BY item_id NULLS LAST, version
