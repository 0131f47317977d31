-- Insert or replace the rows of pages of sessions; a row of a newer version stays.
INSERT INTO ledger.session_index AS i (
    namespace_id, projection_version, stream_id, user_id, session_id, version, status, created_at, updated_at,
    expires_at, entries, active, summaries, total_tokens, active_tokens, failed_compactions, last_failure, failing_since,
    failing_model
)
SELECT
    p.namespace_id, p.build, g.stream_id, g.user_id, g.session_id, g.version, g.status, g.created_at, g.updated_at,
    g.expires_at, g.entries, g.active, g.summaries, g.total_tokens, g.active_tokens,
    g.failed_compactions, g.last_failure, g.failing_since, g.failing_model
FROM json_to_recordset(CAST(:pages AS json)) AS p (namespace_id uuid, build integer, rows json)
CROSS JOIN LATERAL json_to_recordset(p.rows) AS g (
    stream_id uuid, user_id text, session_id text, version bigint, status text, created_at timestamptz,
    updated_at timestamptz, expires_at timestamptz, entries bigint, active bigint, summaries bigint,
    total_tokens bigint, active_tokens bigint, failed_compactions bigint, last_failure text, failing_since timestamptz,
    failing_model text
)
ON CONFLICT (namespace_id, projection_version, stream_id) DO UPDATE SET
    user_id = excluded.user_id, session_id = excluded.session_id, version = excluded.version,
    status = excluded.status, created_at = excluded.created_at, updated_at = excluded.updated_at,
    expires_at = excluded.expires_at, entries = excluded.entries, active = excluded.active,
    summaries = excluded.summaries, total_tokens = excluded.total_tokens, active_tokens = excluded.active_tokens,
    failed_compactions = excluded.failed_compactions, last_failure = excluded.last_failure,
    failing_since = excluded.failing_since, failing_model = excluded.failing_model
    WHERE i.version <= excluded.version
