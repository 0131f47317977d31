-- The tables with a namespace that row security does not separate as it should.
SELECT c.relname AS name FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'namespace_id'
LEFT JOIN pg_policy p ON p.polrelid = c.oid AND p.polpermissive
CROSS JOIN LATERAL (SELECT CASE p.polname
    WHEN 'namespace_isolation' THEN p.polcmd = '*' AND p.polwithcheck IS NULL
        AND pg_get_expr(p.polqual, p.polrelid) = %(condition)s
    WHEN 'verifier_reads' THEN p.polcmd = 'r' AND p.polroles = ARRAY[to_regrole('ledger_verifier')::oid]
    WHEN 'owner_filters' THEN p.polroles = ARRAY[c.relowner] AND (to_regrole('ledger_app') IS NOT NULL
        OR p.polcmd = 'r' AND c.relname IN ('namespaces', 'search_entries', 'records'))
END) AS policy (ours)
WHERE c.relnamespace = to_regnamespace('ledger') AND c.relkind IN ('r', 'p')
GROUP BY c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity
HAVING NOT (c.relrowsecurity AND c.relforcerowsecurity AND bool_and(coalesce(policy.ours, false))
    AND bool_or(p.polname = 'namespace_isolation'))
ORDER BY c.relname
