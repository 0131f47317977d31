-- The events of one stream at given ranges of versions; see read_stream.sql for the shape. Each range is an index
-- scan of its own: with a plain join the planner reads the whole stream and filters.
SELECT e.*
FROM unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) WITH ORDINALITY AS r (first, last, place)
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.version BETWEEN r.first AND r.last
    ORDER BY e.version
    OFFSET 0
) AS e
ORDER BY r.place, e.version
