-- The newest events of a stream but for some types, newest first, each with the version of the newest of all; see
-- read_stream.sql for the shape. If all are of these types, a row has that version alone. Of a fork, a parent may have
-- more.
SELECT
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id, h.version,
    h.is_fork
FROM (
    SELECT
        n.version,
        (
            SELECT p.parent_id IS NOT NULL
            FROM ledger.streams p
            WHERE p.namespace_id = %(namespace)s AND p.stream_id = %(stream)s
        ) AS is_fork
    FROM ledger.events n
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND n.namespace_id = %(namespace)s AND n.stream_id = %(stream)s AND n.version <= %(until)s
    ORDER BY n.version DESC
    LIMIT 1
) AS h
LEFT JOIN LATERAL (
    SELECT *
    FROM ledger.events o
    WHERE o.namespace_id = %(namespace)s AND o.stream_id = %(stream)s AND o.version <= h.version
        AND o.type <> ALL (%(without)s::text[])
    ORDER BY o.version DESC
    LIMIT %(limit)s
) AS e ON true
