-- One statement sets the namespace and reads under row security. The condition without a column is evaluated once, before
-- any row is read, so the setting is there when the first policy needs it (trust D-8).
SELECT
    e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
    e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
FROM ledger.events e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s
    AND e.version > %(after)s AND e.version <= %(until)s
ORDER BY e.version
LIMIT %(limit)s
