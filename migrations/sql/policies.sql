-- Row security (trust D-7), forced so that it applies to the owner too. The application sets the namespaces of a
-- transaction in `ledger.namespace`, as ids with commas; it cannot see rows of other namespaces.
DO $$
DECLARE
    v_table text;
BEGIN
    FOR v_table IN
        SELECT c.relname FROM pg_catalog.pg_class c
        WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind = 'r' AND c.relname <> 'alembic_version'
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE ledger.%I ENABLE ROW LEVEL SECURITY', v_table);
        EXECUTE format('ALTER TABLE ledger.%I FORCE ROW LEVEL SECURITY', v_table);
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

-- What the owner's functions may read. `@@` is not leakproof, so under the policy above no GIN index would be used:
-- ledger.search and ledger.search_records filter namespaces themselves.
CREATE POLICY owner_lists ON ledger.namespaces FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_searches ON ledger.search_entries FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_searches ON ledger.records FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_keeps ON ledger.api_tokens TO CURRENT_USER USING (true);
