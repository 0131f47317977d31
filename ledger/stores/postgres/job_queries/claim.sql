-- Rows that another worker is claiming are skipped, without waiting. A job whose worker died continues its attempt.
WITH due AS (
    SELECT stream_id, kind FROM ledger.jobs
    WHERE namespace_id = :namespace_id AND projection_version = :build
        AND kind = ANY(:kinds)
        AND due_at <= statement_timestamp()
        AND (leased_until IS NULL OR leased_until <= statement_timestamp())
        AND (attempts < :most_attempts OR leased_by IS NOT NULL)
    ORDER BY due_at, stream_id, kind
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
UPDATE ledger.jobs AS j
SET attempts = j.attempts + CAST(j.leased_by IS NULL AS integer), leased_by = :by, leased_until = statement_timestamp() + make_interval(secs => :lease_s)
FROM due
WHERE j.namespace_id = :namespace_id AND j.projection_version = :build
    AND j.stream_id = due.stream_id AND j.kind = due.kind
RETURNING j.stream_id, j.user_id, j.session_id, j.kind, j.work, j.due_at, j.attempts, j.leased_until, j.leased_by,
    j.last_error
