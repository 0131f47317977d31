-- The answer to a client's request, event by event; see read_stream.sql for the shape.
SELECT
    r.request_hash, e.stream_id, e.version, e."position", e.event_id,
    (extract(epoch FROM e.recorded_at) * 1000000)::bigint, e.hash
FROM ledger.append_requests r
CROSS JOIN LATERAL (
    SELECT v.stream_id, v.version, v."position", v.event_id, v.recorded_at, v.hash
    FROM ledger.events v
    WHERE v.namespace_id = %(namespace)s AND v."position" >= r.first_position
        AND v."position" < r.first_position + r.event_count
    ORDER BY v."position"
    OFFSET 0
) AS e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND r.namespace_id = %(namespace)s AND r.stream_id = %(stream)s AND r.request_id = %(request)s
ORDER BY e."position"
