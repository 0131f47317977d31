-- The schema as lines of text that PostgreSQL 15 to 18 print alike: the object, the table it is about, its definition.
-- Not-null constraints are those of the columns, for PostgreSQL 18 alone lists them as constraints too.
WITH schema AS (SELECT n.oid, n.nspowner AS owner, n.nspacl AS acl FROM pg_namespace n WHERE n.nspname = 'ledger'),
relations AS (
    SELECT c.* FROM pg_class c JOIN schema s ON c.relnamespace = s.oid WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
),
grants (name, about, owner, acl) AS (
    SELECT 'schema', '', s.owner, s.acl FROM schema s
    UNION ALL
    SELECT 'table ' || c.relname, c.relname, c.relowner, c.relacl FROM relations c
    UNION ALL
    SELECT 'column ' || c.relname || '.' || a.attname, c.relname, c.relowner, a.attacl
    FROM relations c JOIN pg_attribute a ON a.attrelid = c.oid WHERE a.attacl IS NOT NULL
    UNION ALL
    SELECT 'function ' || p.proname, '', p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
    FROM pg_proc p JOIN schema s ON p.pronamespace = s.oid
)
SELECT 'table ' || c.relname, c.relname::text, concat_ws(
    ', ', c.relkind, c.relpersistence, c.reloptions::text, CASE WHEN c.relrowsecurity THEN 'row security' END,
    CASE WHEN c.relforcerowsecurity THEN 'forced' END, CASE WHEN c.relowner <> s.owner THEN 'another owner' END)
FROM relations c, schema s
UNION ALL
SELECT 'column ' || c.relname || '.' || a.attname, c.relname::text, concat_ws(
    ' ', format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END, a.attstorage,
    a.attgenerated, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
FROM relations c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p')
UNION ALL
-- the rows of a table that inherits one of these are read with its own, and none of its triggers guards them
SELECT 'inheritance of ' || i.inhparent::regclass || ' by ' || i.inhrelid::regclass,
    coalesce(parent.relname, child.relname)::text, i.inhseqno::text
FROM pg_inherits i LEFT JOIN relations parent ON parent.oid = i.inhparent LEFT JOIN relations child ON child.oid = i.inhrelid
WHERE parent.oid IS NOT NULL OR child.oid IS NOT NULL
UNION ALL
SELECT 'constraint ' || coalesce(c.relname, t.typname) || '.' || k.conname, coalesce(c.relname::text, ''), concat_ws(
    ' ', pg_get_constraintdef(k.oid), CASE WHEN NOT k.convalidated THEN 'not valid' END)
FROM pg_constraint k JOIN schema s ON k.connamespace = s.oid
LEFT JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_type t ON t.oid = k.contypid
WHERE k.contype <> 'n'
UNION ALL
SELECT 'domain ' || t.typname, '', concat_ws(' ', format_type(t.typbasetype, t.typtypmod), t.typdefault)
FROM pg_type t JOIN schema s ON t.typnamespace = s.oid WHERE t.typtype = 'd'
UNION ALL
SELECT 'index ' || x.relname, c.relname::text, concat_ws(
    ' ', pg_get_indexdef(i.indexrelid), CASE WHEN NOT (i.indisvalid AND i.indisready AND i.indislive) THEN 'not in use' END)
FROM pg_index i JOIN relations c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
UNION ALL
SELECT 'trigger ' || c.relname || '.' || g.tgname, c.relname::text, pg_get_triggerdef(g.oid) || ' ' || g.tgenabled::text
FROM pg_trigger g JOIN relations c ON c.oid = g.tgrelid WHERE NOT g.tgisinternal
UNION ALL
SELECT 'rule ' || c.relname || '.' || r.rulename, c.relname::text, pg_get_ruledef(r.oid) || ' ' || r.ev_enabled::text
FROM pg_rewrite r JOIN relations c ON c.oid = r.ev_class WHERE r.rulename <> '_RETURN'
UNION ALL
SELECT 'policy ' || c.relname || '.' || p.polname, c.relname::text, concat_ws(
    ' ', p.polcmd, p.polpermissive::text, (
        SELECT string_agg(CASE WHEN m.id = 0 THEN 'public' WHEN m.id = c.relowner THEN 'owner' ELSE m.id::regrole::text END,
            ',' ORDER BY m.id::regrole::text)
        FROM unnest(p.polroles) AS m (id)
    ), pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
FROM pg_policy p JOIN relations c ON c.oid = p.polrelid
UNION ALL
SELECT 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')', '', concat_ws(
    ' ', pg_get_function_result(p.oid), p.prokind, CASE WHEN p.prosecdef THEN 'as owner' END, p.provolatile, l.lanname,
    p.proconfig::text, CASE WHEN p.proowner <> s.owner THEN 'another owner' END,
    encode(sha256(convert_to(p.prosrc, 'UTF8')), 'hex'))
FROM pg_proc p JOIN schema s ON p.pronamespace = s.oid JOIN pg_language l ON l.oid = p.prolang
UNION ALL
SELECT 'grant on ' || g.name, g.about, string_agg(DISTINCT concat_ws(
    ' ', a.privilege_type, 'to', CASE WHEN a.grantee = 0 THEN 'public' ELSE a.grantee::regrole::text END,
    CASE WHEN a.is_grantable THEN 'and others' END), ', ')
FROM grants g, aclexplode(g.acl) AS a
WHERE a.grantee <> g.owner
GROUP BY g.name, g.about
ORDER BY 1
