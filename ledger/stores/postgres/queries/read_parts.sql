-- The events of a fork, which are in several streams; see read_versions.sql for the shape.
SELECT e.*
FROM unnest(%(streams)s::uuid[], %(firsts)s::bigint[], %(lasts)s::bigint[])
    WITH ORDINALITY AS r (stream_id, first, last, place)
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = r.stream_id AND e.version BETWEEN r.first AND r.last
    ORDER BY e.version
    LIMIT %(each)s
) AS e
ORDER BY r.place, e.version
LIMIT %(limit)s
