-- The newest event of a type, by the index of events without an item; see read_stream.sql for the shape.
SELECT v.version
FROM (SELECT set_config('ledger.namespace', %(namespace)s, true)::uuid AS id OFFSET 0) AS ns
CROSS JOIN LATERAL (
    SELECT e.version
    FROM ledger.events e
    WHERE e.namespace_id = ns.id AND e.stream_id = %(stream)s AND e.type = %(type)s AND e.item_id IS NULL
        AND e.version <= %(until)s
    ORDER BY e.version DESC
    LIMIT 1
) AS v
