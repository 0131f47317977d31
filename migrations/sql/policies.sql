-- Row security (trust D-7), forced so that it applies to the owner too. The application sets the namespaces of a
-- transaction in `ledger.namespace`, as ids with commas; it cannot see rows of other namespaces. The owner's functions
-- see all rows and filter by namespace themselves, which saves every statement of theirs the look at the setting. Where
-- the application itself runs as the owner, because roles cannot be created, only the searches do: `@@` is not leakproof,
-- so under the policy of namespaces no GIN index would be used.
DO $$
DECLARE
    v_table text;
    v_has_roles boolean := EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app');
BEGIN
    FOR v_table IN
        SELECT c.relname FROM pg_catalog.pg_class c
        WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind = 'r' AND c.relname <> 'alembic_version'
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE ledger.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE ledger.%I FORCE ROW LEVEL SECURITY', v_table);
        IF v_has_roles OR v_table = 'api_tokens' THEN
            EXECUTE format('CREATE POLICY owner_filters ON ledger.%I TO CURRENT_USER USING (true)', v_table);
        ELSIF v_table IN ('namespaces', 'search_entries', 'records') THEN
            EXECUTE format('CREATE POLICY owner_filters ON ledger.%I FOR SELECT TO CURRENT_USER USING (true)', v_table);
        END IF;
        CONTINUE WHEN v_table = 'api_tokens'; -- belongs to the service, not to a namespace
        EXECUTE format($policy$
            CREATE POLICY namespace_isolation ON ledger.%I USING (
                array_position(
                    (SELECT string_to_array(nullif(current_setting('ledger.namespace', true), ''), ',')::uuid[]),
                    namespace_id
                ) IS NOT NULL
            )$policy$, v_table);
        IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_verifier') THEN
            EXECUTE format('CREATE POLICY verifier_reads ON ledger.%I FOR SELECT TO ledger_verifier USING (true)', v_table);
        END IF;
    END LOOP;
END
$$;
