-- Streams that have rows in live builds and no head.
SELECT DISTINCT r.projection, r.stream_id
FROM (
    SELECT 'session_index' AS projection, i.stream_id
    FROM ledger.session_index i
    WHERE i.namespace_id = :namespace AND i.projection_version = ANY (CAST(:session_index AS integer[]))
    UNION ALL
    SELECT 'session_index', t.stream_id
    FROM ledger.session_runs t
    WHERE t.namespace_id = :namespace AND t.projection_version = ANY (CAST(:session_index AS integer[]))
    UNION ALL
    SELECT 'jobs', j.stream_id
    FROM ledger.jobs j
    WHERE j.namespace_id = :namespace AND j.projection_version = ANY (CAST(:jobs AS integer[]))
    UNION ALL
    SELECT 'search', e.stream_id
    FROM ledger.search_entries e
    WHERE e.namespace_id = :namespace AND e.projection_version = ANY (CAST(:search AS integer[]))
    UNION ALL
    SELECT 'search', f.stream_id
    FROM ledger.search_forks f
    WHERE f.namespace_id = :namespace AND f.projection_version = ANY (CAST(:search AS integer[]))
    UNION ALL
    SELECT 'search', c.stream_id
    FROM ledger.search_fork_changes c
    WHERE c.namespace_id = :namespace AND c.projection_version = ANY (CAST(:search AS integer[]))
    UNION ALL
    SELECT 'records', r.stream_id
    FROM ledger.records r
    WHERE r.namespace_id = :namespace AND r.projection_version = ANY (CAST(:records AS integer[]))
) AS r
WHERE NOT EXISTS (
    SELECT FROM ledger.streams s WHERE s.namespace_id = :namespace AND s.stream_id = r.stream_id
)
ORDER BY 1, 2
