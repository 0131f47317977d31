-- A job with the same work keeps its attempts and its back-off; a job with other work starts anew.
INSERT INTO ledger.jobs AS j
    (namespace_id, projection_version, stream_id, user_id, session_id, kind, work, due_at)
SELECT :namespace_id, :build, stream_id, user_id, session_id, kind, work, due_at
FROM unnest(
    CAST(:streams AS uuid[]), CAST(:users AS text[]), CAST(:sessions AS text[]), CAST(:kinds AS text[]),
    CAST(:works AS text[]), CAST(:dues AS timestamptz[])
) AS wanted (stream_id, user_id, session_id, kind, work, due_at)
ON CONFLICT (namespace_id, projection_version, stream_id, kind) DO UPDATE SET
    work = excluded.work,
    due_at = CASE
        WHEN j.work = excluded.work AND j.attempts > 0 THEN greatest(j.due_at, excluded.due_at) ELSE excluded.due_at
    END,
    attempts = CASE WHEN j.work = excluded.work THEN j.attempts ELSE 0 END,
    last_error = CASE WHEN j.work = excluded.work THEN j.last_error END
