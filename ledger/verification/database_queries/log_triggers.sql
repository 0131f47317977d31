-- Of each table of the log and its partitions: whether triggers refuse every change.
SELECT log.name, bool_and(coalesce(guard.rows AND guard.truncate, false)) AS append_only
FROM unnest(%(log)s::text[]) AS log (name)
LEFT JOIN pg_class c ON c.relnamespace = to_regnamespace('ledger') AND c.relname = log.name
LEFT JOIN LATERAL pg_partition_tree(c.oid) AS p ON true
CROSS JOIN LATERAL (
    SELECT bool_or(t.tgtype & 27 = 27) AS rows, bool_or(t.tgtype & 35 = 34) AS truncate
    FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
    WHERE t.tgrelid = coalesce(p.relid, c.oid) AND t.tgenabled = 'A' AND t.tgqual IS NULL
        AND f.pronamespace = c.relnamespace AND f.proname = 'refuse_change'
) AS guard
GROUP BY log.name ORDER BY log.name
