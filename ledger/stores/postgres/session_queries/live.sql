-- The newest live sessions of many namespaces, each with the number of all of them. The inner query reads one namespace
-- by the primary key, whatever the planner knows about the table.
WITH live AS MATERIALIZED (
    SELECT r.*
    FROM unnest(CAST(:namespaces AS uuid[]), CAST(:builds AS integer[])) AS g (namespace, build)
    CROSS JOIN LATERAL (
        SELECT i.namespace_id, i.stream_id, i.session_id, i.projection_version, i.updated_at
        FROM ledger.session_index i
        WHERE i.namespace_id = g.namespace AND i.projection_version = g.build AND i.status = 'live'
            AND (i.expires_at IS NULL OR i.expires_at > :moment)
            AND (CAST(:user_id AS text) IS NULL OR i.user_id = :user_id)
        OFFSET 0
    ) AS r
    WHERE r.namespace_id = ANY (CAST(:namespaces AS uuid[]))
), newest AS MATERIALIZED (
    SELECT live.* FROM live ORDER BY live.updated_at DESC, live.session_id, live.stream_id LIMIT :limit
)
SELECT r.*, (SELECT count(*) FROM live) AS total
FROM newest
CROSS JOIN LATERAL (
    SELECT
        i.namespace_id, i.stream_id, i.user_id, i.session_id, i.version, i.status, i.created_at, i.updated_at,
        i.expires_at, i.entries, i.active, i.summaries, i.total_tokens, i.active_tokens,
        i.failed_compactions, i.last_failure, i.failing_since, i.failing_model
    FROM ledger.session_index i
    WHERE i.namespace_id = newest.namespace_id AND i.projection_version = newest.projection_version
        AND i.stream_id = newest.stream_id
    OFFSET 0
) AS r
WHERE r.namespace_id = ANY (CAST(:namespaces AS uuid[]))
ORDER BY r.updated_at DESC, r.session_id, r.stream_id
