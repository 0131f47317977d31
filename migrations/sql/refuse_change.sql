-- The trigger function that refuses UPDATE, DELETE and TRUNCATE of the log (trust D-6). The one change that it allows is
-- content set to null by the function that erases content, which is still to come (trust E-8, E-9): the role that
-- makes it must own that function, and every other column must stay as it is.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND EXISTS (
        SELECT FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
        WHERE p.pronamespace = 'ledger'::regnamespace AND p.proname = 'erase' AND p.prosecdef
            AND r.rolname = current_user
    ) THEN
        IF OLD.content IS NOT NULL AND NEW.content IS NULL THEN
            OLD.content := NULL;
            IF OLD *= NEW THEN
                RETURN NEW;
            END IF;
        END IF;
    END IF;
    RAISE EXCEPTION 'the log is append-only: % of %.% refused', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'LG000';
END
$$;
