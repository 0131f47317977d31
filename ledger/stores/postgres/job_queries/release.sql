-- The outcome of an attempt is stored only if the work is still the same.
UPDATE ledger.jobs SET
    leased_by = NULL,
    leased_until = NULL,
    attempts = CASE WHEN work = :work AND NOT :counts THEN greatest(0, attempts - 1) ELSE attempts END,
    due_at = CASE
        WHEN work = :work THEN greatest(due_at, statement_timestamp() + make_interval(secs => :retry_after_s)) ELSE due_at
    END,
    last_error = CASE WHEN work = :work THEN coalesce(:error, last_error) ELSE last_error END
WHERE namespace_id = :namespace_id AND projection_version = :build AND stream_id = :stream_id AND kind = :kind
    AND leased_by = :by
