"""Alembic's environment: one transaction, as the owner, under an advisory lock (trust D-11).

The database is `-x url=…` or, from the application, the connection in the config's attributes.
"""

from alembic import context
from sqlalchemy import Connection, create_engine, text

from ledger.stores.postgres.migration import ADVISORY_LOCK, run_sql, sqlalchemy_url


def run(connection: Connection | None) -> None:
    if connection is None:
        context.configure(dialect_name="postgresql", version_table_schema="ledger", literal_binds=True)
    else:
        context.configure(connection=connection, version_table_schema="ledger")
    with context.begin_transaction():
        if connection is not None:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
        run_sql("bootstrap", context.get_context())
        run_sql("become_owner", context.get_context())
        context.run_migrations()


if context.is_offline_mode():
    run(None)
elif (given := context.config.attributes.get("connection")) is not None:
    run(given)
else:
    with create_engine(sqlalchemy_url(context.get_x_argument(as_dictionary=True)["url"])).connect() as connection:
        run(connection)
        connection.commit()
