SELECT f.*
FROM ledger.search(
    %(namespace)s::uuid, %(build)s, %(language)s, %(text)s, %(kinds)s::text[], %(stream)s::uuid, %(user)s::text,
    %(collection)s::text, %(include_erased)s, %(limit)s::integer
) AS f
