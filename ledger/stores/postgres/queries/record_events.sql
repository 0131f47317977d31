-- The events about records in ranges of positions of several namespaces, without structure and content of sessions. The last event
-- of each range is returned in any case, since it says how far the range goes; without user_id it is of a session.
SELECT
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.content_digest, e.hash, CASE WHEN s.user_id IS NOT NULL THEN e.structure ELSE '' END,
    CASE WHEN s.user_id IS NOT NULL THEN e.content END, e.item_id, e.key_id,
    e.key_commitment, e.stream_id, e.namespace_id, s.user_id
FROM (
    SELECT l.*, lead(l."position") OVER (PARTITION BY l.namespace_id ORDER BY l."position") IS NULL AS is_last
    FROM unnest(%(namespaces)s::uuid[], %(after)s::bigint[]) AS g (namespace, after)
    CROSS JOIN LATERAL (
        SELECT
            i.namespace_id, i.version, i."position", i.event_id, i.type, i.schema_version, i.codec, i.occurred_at,
            i.recorded_at, i.actor, i.content_digest, i.hash, i.structure, i.content, i.item_id, i.key_id, i.key_commitment,
            i.stream_id
        FROM ledger.events i
        WHERE i.namespace_id = g.namespace AND i."position" > g.after
        ORDER BY i."position"
        LIMIT %(limit)s
        OFFSET 0
    ) AS l
    WHERE (SELECT set_config('ledger.namespace', array_to_string(%(namespaces)s::uuid[], ','), true)) IS NOT NULL
        AND l.namespace_id = ANY (%(namespaces)s::uuid[])
) AS e
LEFT JOIN LATERAL (
    SELECT r.user_id
    FROM (
        SELECT h.namespace_id, h.user_id
        FROM ledger.streams h
        WHERE h.namespace_id = e.namespace_id AND h.stream_id = e.stream_id AND h.session_id = %(records)s
        OFFSET 0
    ) AS r
    WHERE r.namespace_id = ANY (%(namespaces)s::uuid[])
) AS s ON true
WHERE s.user_id IS NOT NULL OR e.is_last
ORDER BY e.namespace_id, e."position"
