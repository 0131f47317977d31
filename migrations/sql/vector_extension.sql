-- The login that migrates creates pgvector, because the owner of the schema may not create extensions.
DO $$
DECLARE
    v_role text := current_user;
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_available_extensions WHERE name = 'vector') THEN
        RESET ROLE;
        CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
    END IF;
    PERFORM set_config('role', v_role, true);
EXCEPTION
    WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
        PERFORM set_config('role', v_role, true);
        RAISE NOTICE 'pgvector could not be created here; search is by words alone';
END
$$;
