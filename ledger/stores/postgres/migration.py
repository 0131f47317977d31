"""Running the migrations (trust D-11)."""

import threading
from typing import Final

import sqlalchemy as sa
from alembic import command, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

from ledger.errors import InvalidInput, MigrationNeeded
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, connect
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.revisions import migrations_dir, newest_revision, refuse_foreign

ADVISORY_LOCK: Final = 0x4D4C4544  # "MLED": one migration of a database at a time …
_ONE_IN_THIS_PROCESS: Final = threading.Lock()  # … and one in this process: Alembic's context is global


def upgrade(url: str, *, existing: bool = False, timeout_s: float = DEFAULT_TIMEOUT_S) -> tuple[str | None, str]:
    """Bring the database at *url* to the newest revision, in one transaction; return the old and the new one.

    The login must be the owner, a superuser, or a role that may create roles. With *existing* no ledger is begun.

    Raises:
        DatabaseUnavailable: the server cannot be reached.
        InvalidInput: *url* is not a PostgreSQL URL.
        MigrationNeeded: the database is at the revision of a newer release; or it has no ledger, with *existing*.
        NotAllowed: the login may not act as the owner.
    """
    engine = owner_engine(url, timeout_s=timeout_s, takes_time=True)
    config = Config()
    config.set_main_option("script_location", str(migrations_dir()))
    try:
        with _ONE_IN_THIS_PROCESS, translated(), engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"version_table_schema": "ledger"})
            before = context.get_current_revision()
            refuse_foreign(before)
            if existing and before is None:
                raise MigrationNeeded(
                    "the database has no ledger, but one was expected; check that it is the right database and volume, "
                    "or begin a new ledger with `memory-ledger db upgrade`, without --existing"
                )
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    finally:
        engine.dispose()
    return before, newest_revision()


def owner_engine(url: str, *, timeout_s: float, takes_time: bool = False) -> sa.Engine:
    """Return an engine without a pool, whose answers come in time; see `deadlines.connect`.

    Raises:
        InvalidInput: *url* is not a PostgreSQL URL.
    """
    driver_url = sqlalchemy_url(url).replace("+psycopg", "", 1)
    return sa.create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect(driver_url, timeout_s=timeout_s, takes_time=takes_time),
        poolclass=sa.NullPool,
    )


def sqlalchemy_url(url: str) -> str:
    """Return a URL for psql as a URL for SQLAlchemy.

    Raises:
        InvalidInput: *url* is not a PostgreSQL URL.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise InvalidInput("bad_database_url", "must begin with postgresql://", field="database_url")
    return f"postgresql+psycopg://{rest}"


def run_sql(name: str, context: MigrationContext | None = None) -> None:
    """Run one file of ``migrations/sql``; in offline mode, print it."""
    script = (migrations_dir() / "sql" / f"{name}.sql").read_text()
    context = context or op.get_context()
    if context.as_sql:
        context.impl.static_output(script)
    else:
        context.execute(sa.text(script.replace(":", r"\:")))


def run_sql_on(connection: sa.Connection, name: str) -> None:
    """Run one file of ``migrations/sql`` outside of a migration."""
    script = (migrations_dir() / "sql" / f"{name}.sql").read_text()
    connection.execute(sa.text(script.replace(":", r"\:")))
