-- Backwards from the head: the clock may have gone backwards, so only versions give the order (trust R-8).
SELECT e.version
FROM ledger.events e
WHERE (SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)) IS NOT NULL
    AND e.namespace_id = %(namespace)s AND e.stream_id = %(stream)s AND e.recorded_at <= %(moment)s
    AND e.version <= %(until)s
ORDER BY e.version DESC
LIMIT 1
