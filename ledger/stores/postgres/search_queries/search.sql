-- The limit depends on the outer row, so that the namespace is set before the function is called.
SELECT f.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL ledger.search(
    %(build)s, %(language)s, %(text)s, %(kinds)s::text[], %(stream)s::uuid, %(user)s::text,
    %(collection)s::text, %(include_erased)s, CASE WHEN ns.id IS NOT NULL THEN %(limit)s::integer END
) AS f
