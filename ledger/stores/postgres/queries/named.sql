-- The names of some streams; see read_stream.sql for the shape.
SELECT s.stream_id, s.user_id, s.session_id
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = ANY (%(streams)s::uuid[])
