-- The events about records in a range of positions; the payloads of sessions are not read.
SELECT e.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at,
        e.actor, e.payload_digest, e.hash,
        (SELECT p.bytes FROM ledger.payloads p WHERE p.namespace_id = e.namespace_id AND p."position" = e."position"),
        e.item_id, e.key_id, e.key_commitment, e.stream_id, s.user_id
    FROM ledger.events e
    CROSS JOIN LATERAL (
        SELECT s.user_id
        FROM ledger.streams s
        WHERE s.namespace_id = e.namespace_id AND s.stream_id = e.stream_id AND s.session_id = %(records)s
        OFFSET 0
    ) AS s
    WHERE e.namespace_id = ns.id AND e."position" > %(after)s AND e."position" <= %(until)s
    ORDER BY e."position"
) AS e
