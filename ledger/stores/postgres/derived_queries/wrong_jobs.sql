-- Streams whose jobs are not those given. What workers change (lease, attempts, the time of the next one) is left out.
SELECT DISTINCT coalesce(g.stream_id, j.stream_id)
FROM unnest(
    CAST(:streams AS uuid[]), CAST(:users AS text[]), CAST(:sessions AS text[]), CAST(:kinds AS text[]),
    CAST(:works AS text[])
) AS g (stream_id, user_id, session_id, kind, work)
FULL JOIN (
    SELECT stream_id, user_id, session_id, kind, work
    FROM ledger.jobs
    WHERE namespace_id = :namespace AND projection_version = :build AND stream_id = ANY (CAST(:changed AS uuid[]))
) AS j ON j.stream_id = g.stream_id AND j.kind = g.kind
WHERE (g.user_id, g.session_id, g.work) IS DISTINCT FROM (j.user_id, j.session_id, j.work)
