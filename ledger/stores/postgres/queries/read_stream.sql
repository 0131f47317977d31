-- One statement sets the namespace and reads behind row security: the inner scan needs the id that the outer
-- row brings, so the setting is made before the first policy is asked (trust D-8). The bytes are looked up event by
-- event: joined, the planner merges, and walks through the bytes of all the namespace before those wanted.
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
