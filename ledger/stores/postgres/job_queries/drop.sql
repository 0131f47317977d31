-- Delete the jobs that these sessions no longer have.
DELETE FROM ledger.jobs AS j
WHERE j.namespace_id = :namespace_id AND j.projection_version = :build
    AND j.stream_id = ANY(CAST(:changed AS uuid[]))
    AND NOT EXISTS (
        SELECT FROM unnest(CAST(:streams AS uuid[]), CAST(:kinds AS text[])) AS wanted (stream_id, kind)
        WHERE wanted.stream_id = j.stream_id AND wanted.kind = j.kind
    )
