-- The login and the role that it acts as: whether the guards of the log hold for them.
SELECT r.rolname AS name, r.rolname = current_user AS acts, r.rolsuper OR r.rolbypassrls AS unrestricted,
    coalesce((SELECT pg_has_role(r.rolname, nspowner, 'MEMBER') FROM pg_namespace
        WHERE nspname = 'ledger'), false) AS owner,
    EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_app') AS avoidable
FROM pg_roles r WHERE r.rolname IN (current_user, session_user) ORDER BY acts DESC
