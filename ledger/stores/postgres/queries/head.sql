SELECT s.version, s.head_hash
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT s.version, s.head_hash
    FROM ledger.streams s
    WHERE s.namespace_id = ns.id AND s.stream_id = %(stream)s
    OFFSET 0
) AS s
