-- Roles and schema. If roles cannot be created, the application runs as the owner under forced row security, and
-- `memory-ledger doctor` says what is weaker (trust D-10).
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['ledger_owner', 'ledger_app', 'ledger_verifier'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
    END LOOP;
    IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT ledger_owner TO %I', current_user);
    END IF;
EXCEPTION
    WHEN insufficient_privilege THEN
        RAISE NOTICE 'roles cannot be created here; the application will run as the owner';
    WHEN duplicate_object OR unique_violation THEN
        NULL; -- another database of this server is being migrated at the same time
END
$$;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'ledger') THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_owner')
        AND pg_catalog.pg_has_role(current_user, 'ledger_owner', 'MEMBER') THEN
        CREATE SCHEMA ledger AUTHORIZATION ledger_owner;
    ELSE
        CREATE SCHEMA ledger;
    END IF;
END
$$;
