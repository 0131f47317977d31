-- The next events of several namespaces, with their sessions, ended by the event that brings them to most_bytes; see
-- read_namespace.sql for the shape.
SELECT
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id, e.namespace_id, s.user_id,
    s.session_id
FROM (
    SELECT
        p.*,
        sum(coalesce(octet_length(p.content), 0) + octet_length(p.structure))
            OVER (ORDER BY p.namespace_id, p."position" ROWS UNBOUNDED PRECEDING) AS bytes
    FROM (
        SELECT l.*
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
    ) AS p
) AS e
CROSS JOIN LATERAL (
    SELECT h.namespace_id, h.user_id, h.session_id
    FROM ledger.streams h
    WHERE h.namespace_id = e.namespace_id AND h.stream_id = e.stream_id
    OFFSET 0
) AS s
WHERE s.namespace_id = ANY (%(namespaces)s::uuid[])
    AND e.bytes - coalesce(octet_length(e.content), 0) - octet_length(e.structure) < %(most_bytes)s
ORDER BY e.namespace_id, e."position"
