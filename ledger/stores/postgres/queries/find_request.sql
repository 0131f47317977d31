-- The answer to a client's request, event by event; see read_stream.sql for the shape.
SELECT
    q.request_hash, e.stream_id, e.version, e."position", e.event_id,
    (extract(epoch FROM e.recorded_at) * 1000000)::bigint, e.hash
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT r.request_hash, r.first_position, r.event_count
    FROM ledger.append_requests r
    WHERE r.namespace_id = ns.id AND r.stream_id = %(stream)s AND r.request_id = %(request)s
    OFFSET 0
) AS q
CROSS JOIN LATERAL (
    SELECT v.stream_id, v.version, v."position", v.event_id, v.recorded_at, v.hash
    FROM ledger.events v
    WHERE v.namespace_id = ns.id AND v."position" >= q.first_position
        AND v."position" < q.first_position + q.event_count
    OFFSET 0
) AS e
ORDER BY e."position"
