-- The events about records in a range of positions; the payloads of sessions are not read.
SELECT
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.payload_digest, e.hash, e.payload, e.item_id, e.key_id, e.key_commitment, e.stream_id, s.user_id
FROM ledger.events e
CROSS JOIN LATERAL (
    SELECT h.user_id
    FROM ledger.streams h
    WHERE h.namespace_id = %(namespace)s AND h.stream_id = e.stream_id AND h.session_id = %(records)s
    OFFSET 0
) AS s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e."position" > %(after)s AND e."position" <= %(until)s
ORDER BY e."position"
