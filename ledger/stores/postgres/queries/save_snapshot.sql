-- In one round trip, without waiting for the disk: a snapshot that is lost costs a longer read (the log before it is written
-- first). See read_stream.sql for the condition without a column.
WITH superseded AS (
    DELETE FROM ledger.snapshots s
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.projection = %(projection)s
        AND s.projection_version = %(projection_version)s AND s.version >= %(since)s AND s.version < %(version)s
)
INSERT INTO ledger.snapshots AS s
    (namespace_id, stream_id, projection, projection_version, version, code_digest, head_hash, mac, state)
SELECT
    %(namespace)s, %(stream)s, %(projection)s, %(projection_version)s, %(version)s, %(code_digest)s, %(head_hash)s, %(mac)s,
    %(state)s
WHERE (
    SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true) || set_config('synchronous_commit', 'off', true)
) IS NOT NULL
ON CONFLICT (namespace_id, stream_id, projection, projection_version, version) DO UPDATE
SET code_digest = excluded.code_digest, head_hash = excluded.head_hash, mac = excluded.mac, state = excluded.state
RETURNING s.version
