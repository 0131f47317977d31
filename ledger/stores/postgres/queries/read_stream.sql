-- One statement sets the namespace and reads under row security: the inner scan needs the id from the outer row, so the
-- namespace is set before the first policy is evaluated (trust D-8). The bytes are looked up event by event: with a
-- plain join the planner merges, and reads the bytes of the whole namespace up to the wanted ones.
SELECT e.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at,
        e.actor, e.payload_digest, e.hash,
        (SELECT p.bytes FROM ledger.payloads p WHERE p.namespace_id = e.namespace_id AND p."position" = e."position"),
        e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE e.namespace_id = ns.id AND e.stream_id = %(stream)s AND e.version > %(after)s AND e.version <= %(until)s
    ORDER BY e.version
    LIMIT %(limit)s
) AS e
