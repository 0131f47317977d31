"""Laws of the schema, each as a query whose rows are what breaks it. Source: trust D-1, D-2, D-5 … D-7, style §3."""

from typing import Final

#: Tables and partitions with a namespace; alembic_version and api_tokens, which are read before one is known, are the
#: only other ones.
_TABLES: Final = """
    SELECT c.* FROM pg_class c WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p')
    AND c.relname NOT IN ('alembic_version', 'api_tokens')
"""

LAWS: Final = {
    "every table has a namespace": f"""
        SELECT c.relname FROM ({_TABLES}) c WHERE NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'namespace_id' AND a.attnotnull)
    """,
    "every key begins with the namespace": f"""
        SELECT i.indexrelid::regclass::text FROM pg_index i JOIN ({_TABLES}) c ON c.oid = i.indrelid
        WHERE i.indisunique AND i.indkey[0] <> (
            SELECT attnum FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'namespace_id')
    """,
    "every table has a primary key": f"""
        SELECT c.relname FROM ({_TABLES}) c
        WHERE NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
    """,
    "nothing is numbered by a sequence": """
        SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind = 'S'
    """,
    "no foreign key leaves its namespace": """
        SELECT f.conname FROM pg_constraint f WHERE f.connamespace = 'ledger'::regnamespace AND f.contype = 'f'
        AND NOT EXISTS (
            SELECT FROM unnest(f.conkey, f.confkey) AS k (ours, theirs)
            JOIN pg_attribute o ON o.attrelid = f.conrelid AND o.attnum = k.ours
            JOIN pg_attribute t ON t.attrelid = f.confrelid AND t.attnum = k.theirs
            WHERE o.attname = 'namespace_id' AND t.attname = 'namespace_id')
    """,
    "no cascade reaches the log": """
        SELECT conname FROM pg_constraint WHERE contype = 'f' AND confdeltype <> 'a'
        AND conrelid = 'ledger.events'::regclass
    """,
    "changing the log ends in a trigger that always fires": """
        SELECT t.leaf::regclass::text || ' ' || w.change
        FROM (SELECT 'ledger.events'::regclass) AS log (root)
        LEFT JOIN LATERAL pg_partition_tree(log.root) p ON true
        CROSS JOIN LATERAL (SELECT coalesce(p.relid, log.root)) AS t (leaf)
        CROSS JOIN (VALUES ('update', 1 | 2 | 16), ('delete', 1 | 2 | 8), ('truncate', 2 | 32)) AS w (change, bits)
        WHERE NOT EXISTS (
            SELECT FROM pg_trigger g WHERE g.tgrelid = t.leaf AND g.tgenabled = 'A' AND g.tgqual IS NULL
            AND g.tgtype & (w.bits | 1) = w.bits AND g.tgfoid = 'ledger.refuse_change'::regproc)
    """,
    "every trigger always fires": """
        SELECT tgname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
        WHERE c.relnamespace = 'ledger'::regnamespace AND NOT g.tgisinternal AND g.tgenabled <> 'A'
    """,
    "row security is enabled and forced": f"""
        SELECT c.relname FROM ({_TABLES}) c WHERE NOT (c.relrowsecurity AND c.relforcerowsecurity)
    """,
    "every table has the one policy of namespaces": f"""
        SELECT c.relname FROM ({_TABLES}) c WHERE NOT EXISTS (
            SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'namespace_isolation'
            AND p.polcmd = '*' AND p.polpermissive AND p.polroles = '{{0}}'
            AND pg_get_expr(p.polqual, p.polrelid) = (
                SELECT pg_get_expr(polqual, polrelid) FROM pg_policy
                WHERE polname = 'namespace_isolation' AND polrelid = 'ledger.events'::regclass)
            AND pg_get_expr(p.polqual, p.polrelid) LIKE '%current_setting(''ledger.namespace''%')
    """,
    "views ask with the rights of who asks": """
        SELECT relname FROM pg_class WHERE relnamespace = 'ledger'::regnamespace AND relkind IN ('v', 'm')
        AND NOT coalesce(reloptions, '{}') @> '{security_invoker=true}'
    """,
    "everything belongs to the owner": """
        SELECT relname FROM pg_class
        WHERE relnamespace = 'ledger'::regnamespace AND relowner <> 'ledger_owner'::regrole
        UNION ALL SELECT proname FROM pg_proc
        WHERE pronamespace = 'ledger'::regnamespace AND proowner <> 'ledger_owner'::regrole
        UNION ALL SELECT nspname FROM pg_namespace WHERE nspname = 'ledger' AND nspowner <> 'ledger_owner'::regrole
    """,
    "functions have their search path pinned": """
        SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'ledger'::regnamespace AND NOT EXISTS (
            SELECT FROM unnest(p.proconfig) AS c (setting) WHERE c.setting = CASE p.prorettype
                WHEN 'trigger'::regtype THEN 'search_path=pg_catalog, pg_temp' ELSE 'search_path=ledger, pg_temp' END)
    """,
    "PUBLIC has nothing": """
        SELECT relname FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.relnamespace = 'ledger'::regnamespace AND a.grantee = 0
        UNION ALL SELECT proname FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        WHERE p.pronamespace = 'ledger'::regnamespace AND a.grantee = 0
        UNION ALL SELECT nspname FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
        WHERE n.nspname = 'ledger' AND a.grantee = 0
    """,
    "the application calls nine functions": """
        SELECT proname FROM pg_proc p WHERE p.pronamespace = 'ledger'::regnamespace
        AND has_function_privilege('ledger_app', p.oid, 'EXECUTE')
        <> (proname IN ('append', 'append_stream', 'create_namespace', 'find_items', 'find_token', 'namespace_ids',
            'prune_requests', 'search', 'search_records'))
    """,
    "what the application may call has its owner's rights": """
        SELECT proname FROM pg_proc p WHERE p.pronamespace = 'ledger'::regnamespace
        AND prosecdef <> has_function_privilege('ledger_app', p.oid, 'EXECUTE')
    """,
    "the application only reads the log": """
        SELECT c.relname FROM pg_class c, unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS may
        WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p', 'v')
        AND c.relname NOT IN ('snapshots', 'projection_checkpoints', 'session_index', 'session_runs', 'search_entries',
            'search_forks', 'search_fork_changes', 'search_terms', 'search_embeddings', 'served_views', 'records',
            'record_accesses', 'record_embeddings', 'jobs')
        AND has_table_privilege('ledger_app', c.oid, may)
    """,
    "tokens are for the owner alone": """
        SELECT r.rolname FROM pg_roles r, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,TRIGGER}'::text[]) may
        WHERE r.rolname IN ('ledger_app', 'ledger_verifier') AND has_table_privilege(r.oid, 'ledger.api_tokens', may)
        UNION ALL SELECT relname FROM pg_class WHERE oid = 'ledger.api_tokens'::regclass
        AND NOT (relrowsecurity AND relforcerowsecurity)
    """,
    "the verifier only reads": """
        SELECT c.relname FROM pg_class c, unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS may
        WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p', 'v')
        AND has_table_privilege('ledger_verifier', c.oid, may)
    """,
    "no role of ours logs in or is above the law": """
        SELECT rolname FROM pg_roles WHERE rolname LIKE 'ledger\\_%'
        AND (rolcanlogin OR rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication)
    """,
}

#: Law → what breaks it: the laws' negative controls.
BREACHES: Final = {
    "every table has a namespace": "CREATE TABLE ledger.more (id int PRIMARY KEY)",
    "every key begins with the namespace": "CREATE UNIQUE INDEX ON ledger.events (event_id)",
    "every table has a primary key": "CREATE TABLE ledger.more (namespace_id uuid NOT NULL)",
    "nothing is numbered by a sequence": "ALTER TABLE ledger.streams ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY",
    "no foreign key leaves its namespace": """
        CREATE TABLE ledger.more (namespace_id uuid NOT NULL, parent uuid REFERENCES ledger.namespaces)
    """,
    "no cascade reaches the log": """
        ALTER TABLE ledger.events ADD FOREIGN KEY (namespace_id) REFERENCES ledger.namespaces ON DELETE CASCADE
    """,
    "changing the log ends in a trigger that always fires": """
        DROP TRIGGER events_append_only ON ledger.events;
        CREATE TRIGGER events_append_only BEFORE UPDATE ON ledger.events
            FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change();
        ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER events_append_only
    """,
    "every trigger always fires": "ALTER TABLE ledger.events ENABLE TRIGGER events_no_truncate",
    "row security is enabled and forced": "ALTER TABLE ledger.streams NO FORCE ROW LEVEL SECURITY",
    "every table has the one policy of namespaces": "ALTER POLICY namespace_isolation ON ledger.streams USING (true)",
    "views ask with the rights of who asks": "ALTER VIEW ledger.events_readable RESET (security_invoker)",
    "everything belongs to the owner": "ALTER FUNCTION ledger.append OWNER TO postgres",
    "functions have their search path pinned": "ALTER FUNCTION ledger.append SET search_path = ledger, public",
    "PUBLIC has nothing": "GRANT EXECUTE ON FUNCTION ledger.append TO PUBLIC",
    "the application calls nine functions": "GRANT EXECUTE ON FUNCTION ledger.append_checked TO ledger_app",
    "what the application may call has its owner's rights": "ALTER FUNCTION ledger.append_checked SECURITY DEFINER",
    "the application only reads the log": "GRANT INSERT ON ledger.events TO ledger_app",
    "tokens are for the owner alone": "GRANT SELECT (key_id), SELECT ON ledger.api_tokens TO ledger_app",
    "the verifier only reads": "GRANT UPDATE ON ledger.snapshots TO ledger_verifier",
    "no role of ours logs in or is above the law": "ALTER ROLE ledger_app BYPASSRLS",
}
