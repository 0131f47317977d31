-- The revision of the schema.
SELECT version_num AS revision FROM ledger.alembic_version
