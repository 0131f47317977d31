-- The events about one API token, each after the event that its hash is chained to; see read_versions.sql for the shape.
SELECT e.*
FROM ledger.find_items(%(namespace)s, %(stream)s, ARRAY[%(token)s]) AS f
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.version BETWEEN f.version - 1 AND f.version
    ORDER BY e.version
    OFFSET 0
) AS e
ORDER BY f.version, e.version
