-- A page of the log in position order, ended by the event that brings it to most_bytes; see read_stream.sql for the
-- shape. The length of content is read without the content.
SELECT
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
FROM (
    SELECT p.*, sum(coalesce(octet_length(p.content), 0) + octet_length(p.structure)) OVER (ORDER BY p."position" ROWS UNBOUNDED PRECEDING) AS bytes
    FROM (
        SELECT l.*
        FROM ledger.events l
        WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
            AND l.namespace_id = %(namespace)s AND l."position" > %(after)s
        ORDER BY l."position"
        LIMIT %(limit)s
    ) AS p
) AS e
WHERE e.bytes - coalesce(octet_length(e.content), 0) - octet_length(e.structure) < %(most_bytes)s
ORDER BY e."position"
