-- The rows of some sessions, of any namespaces.
SELECT r.*
FROM unnest(CAST(:namespaces AS uuid[]), CAST(:builds AS integer[]), CAST(:streams AS uuid[]))
    AS g (namespace, build, stream)
CROSS JOIN LATERAL (
    SELECT
        i.namespace_id, i.stream_id, i.user_id, i.session_id, i.version, i.status, i.created_at, i.updated_at,
        i.expires_at, i.entries, i.active, i.summaries, i.total_tokens, i.active_tokens,
        i.failed_compactions, i.last_failure, i.failing_since, i.failing_model
    FROM ledger.session_index i
    WHERE i.namespace_id = g.namespace AND i.projection_version = g.build AND i.stream_id = g.stream
    OFFSET 0
) AS r
WHERE r.namespace_id = ANY (CAST(:namespaces AS uuid[]))
