-- The newest event of a type, by the index of events without an item; see read_stream.sql for the shape.
SELECT e.version
FROM ledger.events e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.type = %(type)s AND e.item_id IS NULL
    AND e.version <= %(until)s
ORDER BY e.version DESC
LIMIT 1
