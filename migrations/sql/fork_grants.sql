-- `append` is a new function, and so are its parts: only it is for the application.
REVOKE ALL ON FUNCTION ledger.append, ledger.append_checked, ledger.append_forked, ledger.fork_point FROM PUBLIC;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_app') THEN
        GRANT EXECUTE ON FUNCTION ledger.append TO ledger_app;
    END IF;
END
$$;
