-- The names of some streams; see read_stream.sql for the shape.
SELECT s.stream_id, s.user_id, s.session_id
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN unnest(%(streams)s::uuid[]) AS wanted (stream_id)
CROSS JOIN LATERAL (
    SELECT h.stream_id, h.user_id, h.session_id
    FROM ledger.streams h
    WHERE h.namespace_id = ns.id AND h.stream_id = wanted.stream_id
    OFFSET 0
) AS s
