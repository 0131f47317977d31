-- Let the transaction read all namespaces.
SELECT set_config('ledger.namespace', coalesce(string_agg(id::text, ','), ''), true)
FROM ledger.namespace_ids() AS id
