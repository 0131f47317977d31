-- The first event of each stream; see read_stream.sql for the shape.
SELECT e.*
FROM unnest(%(streams)s::uuid[]) AS s (stream_id)
CROSS JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = s.stream_id AND e.version > 0
    ORDER BY e.version
    LIMIT 1
) AS e
