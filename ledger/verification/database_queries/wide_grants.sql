-- What was granted to others besides reading, appending and writing caches.
WITH granted (name, owner, acl) AS (
    SELECT relname::text, relowner, relacl FROM pg_class WHERE relnamespace = to_regnamespace('ledger')
    UNION ALL
    SELECT relname, relowner, attacl FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE relnamespace = to_regnamespace('ledger')
    UNION ALL
    SELECT proname, proowner, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc
    WHERE pronamespace = to_regnamespace('ledger')
    UNION ALL
    SELECT 'schema', nspowner, nspacl FROM pg_namespace WHERE nspname = 'ledger'
)
SELECT DISTINCT format('%%s on %%s to %%s', a.privilege_type, g.name,
    CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END) AS what
FROM granted g, aclexplode(g.acl) a
WHERE a.grantee <> g.owner AND (a.grantee = 0 OR NOT (
    a.privilege_type IN ('SELECT', 'USAGE')
    OR a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE') AND g.name = ANY (%(caches)s)
    OR a.privilege_type = 'EXECUTE' AND g.name = ANY (%(called)s)))
ORDER BY what
