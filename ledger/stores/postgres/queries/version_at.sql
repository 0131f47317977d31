-- Backwards from the head: the clock may have gone backwards, so only versions give the order (trust R-8).
SELECT v.version
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT e.version
    FROM ledger.events e
    WHERE e.namespace_id = ns.id AND e.stream_id = %(stream)s AND e.recorded_at <= %(moment)s
        AND e.version <= %(until)s
    ORDER BY e.version DESC
    LIMIT 1
) AS v
