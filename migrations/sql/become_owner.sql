-- Everything that follows in this transaction belongs to the owner nobody logs in as (trust §4).
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'ledger_owner')
        AND pg_catalog.pg_has_role(current_user, 'ledger_owner', 'MEMBER') THEN
        SET LOCAL ROLE ledger_owner;
    END IF;
END
$$;
