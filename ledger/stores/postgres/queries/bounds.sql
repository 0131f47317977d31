-- The counter and what it should count, as of one moment.
SELECT
    coalesce((SELECT n.last_position FROM ledger.namespaces n WHERE n.namespace_id = %(namespace)s), 0),
    (SELECT count(*) FROM ledger.events e WHERE e.namespace_id = %(namespace)s),
    (SELECT e."position" FROM ledger.events e WHERE e.namespace_id = %(namespace)s ORDER BY e."position" LIMIT 1)
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
