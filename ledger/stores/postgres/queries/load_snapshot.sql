SELECT s.version, s.code_digest, s.state
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT s.version, s.code_digest, s.state
    FROM ledger.snapshots s
    WHERE s.namespace_id = ns.id AND s.stream_id = %(stream)s AND s.projection = %(projection)s
        AND s.projection_version = %(projection_version)s AND s.version <= %(at_most)s
    ORDER BY s.version DESC
    LIMIT 1
) AS s
