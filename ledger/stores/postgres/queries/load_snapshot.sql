-- The row without a version is the newest snapshot, if there is one, in the columns of events, and says whether the stream
-- is a fork, which can use a snapshot of a parent. The others are events: of the `before` newest versions that the snapshot
-- covers, and of those after it. A subtraction can fail, so a policy would not let the index use it: it has a subquery of
-- its own. Columns that only proofs need are left out, and the caller sorts the rows: each costs time. See read_stream.sql
-- for the rest of the shape.
WITH newest AS MATERIALIZED (
    SELECT s.version, s.head_hash, s.state, s.code_digest, s.mac
    FROM ledger.snapshots s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.projection = %(projection)s
        AND s.projection_version = %(projection_version)s AND s.version <= %(at_most)s
    ORDER BY s.version DESC
    LIMIT 1
)
SELECT
    NULL::bigint AS version, s.version AS "position", NULL::uuid AS event_id, NULL::text AS type,
    NULL::smallint AS schema_version, NULL::smallint AS codec, NULL::timestamptz AS occurred_at,
    NULL::timestamptz AS recorded_at, NULL::text AS actor, s.head_hash AS hash, s.state AS structure,
    NULL::bytea AS content,
    s.code_digest, s.mac,
    (
        SELECT p.parent_id IS NOT NULL
        FROM ledger.streams p
        WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
            AND p.namespace_id = %(namespace)s AND p.stream_id = %(stream)s
    ) AS is_fork
FROM (SELECT) AS one
LEFT JOIN newest s ON true
UNION ALL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.hash, e.structure, e.content, NULL, NULL, NULL
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s
        AND e.version > (SELECT coalesce(max(s.version), 0) - %(before)s FROM newest s) AND e.version <= %(at_most)s
    ORDER BY e.version
    LIMIT %(limit)s
)
