-- The runs of some sessions, of any namespaces, and the versions of their first events.
SELECT r.stream_id, CAST(r.run_id AS text), r.version
FROM unnest(CAST(:namespaces AS uuid[]), CAST(:builds AS integer[]), CAST(:streams AS uuid[]))
    AS g (namespace, build, stream)
CROSS JOIN LATERAL (
    SELECT i.namespace_id, i.stream_id, i.run_id, i.version
    FROM ledger.session_runs i
    WHERE i.namespace_id = g.namespace AND i.projection_version = g.build AND i.stream_id = g.stream
    OFFSET 0
) AS r
WHERE r.namespace_id = ANY (CAST(:namespaces AS uuid[]))
