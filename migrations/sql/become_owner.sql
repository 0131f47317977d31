-- The owner of everything that this transaction creates; it is a role without a login (trust §4).
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_owner')
        AND pg_catalog.pg_has_role(current_user, 'ledger_owner', 'MEMBER') THEN
        SET LOCAL ROLE ledger_owner;
    END IF;
END
$$;
