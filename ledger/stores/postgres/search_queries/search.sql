SELECT f.*
FROM ledger.search(
    %(namespace)s::uuid, %(build)s, %(words)s::text[], %(dates)s::jsonb, %(ranking)s::jsonb, %(kinds)s::text[], %(stream)s::uuid, %(user)s::text,
    %(collection)s::text, %(include_erased)s, %(limit)s::integer
) AS f
