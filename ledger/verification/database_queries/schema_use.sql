-- The role, and whether it finds the schema and may use it.
SELECT current_user AS role, to_regnamespace('ledger') IS NOT NULL AS present,
    coalesce(has_schema_privilege(to_regnamespace('ledger'), 'USAGE'), false) AS usable
