-- One row: the snapshot, if there is one, and whether the stream is a fork, which can use a snapshot of a parent.
SELECT s.version, s.code_digest, s.state, p.is_fork
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT s.version, s.code_digest, s.state
    FROM ledger.snapshots s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.projection = %(projection)s
        AND s.projection_version = %(projection_version)s AND s.version <= %(at_most)s
    ORDER BY s.version DESC
    LIMIT 1
) AS s ON true
LEFT JOIN LATERAL (
    SELECT s.parent_id IS NOT NULL AS is_fork
    FROM ledger.streams s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s
    OFFSET 0
) AS p ON true
