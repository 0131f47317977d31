-- Insert the runs that pages of sessions name; the version of the first event of each stays.
INSERT INTO ledger.session_runs (namespace_id, projection_version, stream_id, run_id, version)
SELECT p.namespace_id, p.build, g.stream_id, r.pair ->> 0, CAST(r.pair ->> 1 AS bigint)
FROM json_to_recordset(CAST(:pages AS json)) AS p (namespace_id uuid, build integer, rows json)
CROSS JOIN LATERAL json_to_recordset(p.rows) AS g (stream_id uuid, new_runs json)
CROSS JOIN LATERAL json_array_elements(g.new_runs) AS r (pair)
ON CONFLICT (namespace_id, projection_version, stream_id, run_id) DO NOTHING
