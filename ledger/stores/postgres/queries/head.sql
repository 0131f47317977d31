SELECT s.version, s.head_hash
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s
