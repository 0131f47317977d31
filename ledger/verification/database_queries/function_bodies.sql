-- The functions of the schema: what they run as, and their bodies.
SELECT p.proname AS name, p.prosecdef AS definer, p.prosrc AS body,
    p.proowner = n.nspowner AS owned,
    coalesce('search_path=ledger, pg_temp' = ANY (p.proconfig), false) AS pinned
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'ledger' ORDER BY p.proname
