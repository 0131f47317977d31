-- As read_kept.sql, from the greatest key: a backward scan of the index, which ends at the limit.
(
    SELECT DISTINCT ON (e.item_id COLLATE "C")
        e.version, e."position", e.event_id, e.type, e.schema_version, e.codec, e.occurred_at, e.recorded_at, e.actor,
        e.content_digest, e.hash, e.structure, e.content, e.item_id, e.key_id, e.key_commitment, e.stream_id
    FROM ledger.events e
    WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
        AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.type IN ('kept.removed', 'kept.set')
        AND e.item_id COLLATE "C" >= %(first)s AND e.item_id COLLATE "C" < %(end)s
        AND e.version > %(after)s AND e.version <= %(until)s
    ORDER BY e.item_id COLLATE "C" DESC, e.version DESC
    LIMIT %(limit)s
)
UNION ALL
SELECT
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM ledger.streams s
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND s.namespace_id = %(namespace)s AND s.stream_id = %(stream)s AND s.parent_version IS NOT NULL
