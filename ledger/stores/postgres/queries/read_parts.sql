-- The events of a fork, which are in several streams; see read_versions.sql for the shape.
SELECT e.*
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN unnest(%(streams)s::uuid[], %(firsts)s::bigint[], %(lasts)s::bigint[])
    WITH ORDINALITY AS r (stream_id, first, last, place)
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at,
        e.actor, e.payload_digest, e.hash,
        (SELECT p.bytes FROM ledger.payloads p WHERE p.namespace_id = e.namespace_id AND p."position" = e."position"),
        e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE e.namespace_id = ns.id AND e.stream_id = r.stream_id AND e.version BETWEEN r.first AND r.last
    ORDER BY e.version
    LIMIT %(limit)s
) AS e
ORDER BY r.place, e.version
LIMIT %(limit)s
