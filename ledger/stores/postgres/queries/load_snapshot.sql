-- In the first row the snapshot, if there is one; in each row its version and whether the stream is a fork, which can use a snapshot of a parent.
-- In each row an event, if there is one: of the `before` newest versions that the snapshot covers, and of those after it. A
-- subtraction can fail, so a policy would not let the index use it: it has a subquery of its own. Columns that only proofs
-- need are left out: each costs time. See read_stream.sql for the rest of the shape.
SELECT
    s.version, p.is_fork, f.code_digest, f.head_hash, f.mac, f.state,
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.hash, e.payload
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT s.version, s.code_digest, s.head_hash, s.mac, s.state
    FROM ledger.snapshots s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.projection = %(projection)s
        AND s.projection_version = %(projection_version)s AND s.version <= %(at_most)s
    ORDER BY s.version DESC
    LIMIT 1
) AS s ON true
LEFT JOIN LATERAL (
    SELECT s.parent_id IS NOT NULL AS is_fork
    FROM ledger.streams s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s
    OFFSET 0
) AS p ON true
CROSS JOIN LATERAL (SELECT coalesce(s.version, 0) - %(before)s AS version OFFSET 0) AS past
LEFT JOIN LATERAL (
    SELECT
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.hash, e.payload,
        row_number() OVER (ORDER BY e.version) AS place
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s
        AND e.version > past.version AND e.version <= %(at_most)s
    ORDER BY e.version
    LIMIT %(limit)s
) AS e ON true
LEFT JOIN LATERAL (
    SELECT s.code_digest, s.head_hash, s.mac, s.state WHERE coalesce(e.place, 1) = 1
) AS f ON true
ORDER BY e.version
