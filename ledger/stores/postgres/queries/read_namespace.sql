-- A page of the log in position order; see read_stream.sql for the shape.
SELECT e.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at,
        e.actor, e.payload_digest, e.hash,
        (SELECT p.bytes FROM ledger.payloads p WHERE p.namespace_id = e.namespace_id AND p."position" = e."position"),
        e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE e.namespace_id = ns.id AND e."position" > %(after)s
    ORDER BY e."position"
    LIMIT %(limit)s
) AS e
