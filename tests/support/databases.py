"""Real PostgreSQL for tests: the embedded one, or what TEST_DATABASE_URL or testcontainers give."""

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

import psycopg
import pytest
from psycopg import sql

from ledger.stores.embedded.server import DATABASE, EmbeddedServer
from ledger.stores.postgres import Target
from ledger.stores.postgres.migration import upgrade
from tests.support.orphans import remove_if_killed
from tests.support.patience import within

#: The login under which applications come through a pooler.
APPLICATION = "test_application"

#: What runs in a container when TEST_POSTGRES=container.
CONTAINER_IMAGE = "pgvector/pgvector:0.8.1-pg18"
#: How docker-compose.yml makes a cluster too; before 18 checksums are off by default.
CONTAINER_CLUSTER = ("POSTGRES_INITDB_ARGS", "--data-checksums --locale=C --encoding=UTF8")

POSTGRES_15 = Path("/usr/lib/postgresql/15/bin")

#: Where the memory of the machine is a disk, and how much of it must be free before servers lie there.
MEMORY_DISK = Path("/dev/shm")
ENOUGH_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class Server:
    """A server to make databases on; *url* is of its maintenance database, as superuser.

    With a *pooler*, an address, applications come through it, under plain logins.
    """

    url: str
    name: str
    pooler: str | None = None

    def database(self, name: str) -> str:
        """Return the URL of database *name*."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=f"/{name}"))

    def target(self, name: str) -> Target:
        """Return database *name* as the application enters it: as superuser, acting as the application role.

        Through a pooler it is a plain login, as in production: poolers refuse the option that names the role.
        """
        if self.pooler:
            return Target(self.url_of(APPLICATION, name))
        return Target(self.database(name), embedded=True)

    @contextmanager
    def login(self, *roles: str, attributes: str = "") -> Iterator[str]:
        """Yield the name of a new login, a member of *roles*, dropped at the end."""
        name = f"test_{secrets.token_hex(6)}"
        with self._admin() as admin:
            self._template()  # migrating it makes the roles, which all databases of a server share
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret' " + attributes).format(sql.Identifier(name)))
            for role in roles:
                admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(name)))
        try:
            yield name
        finally:
            with self._admin() as admin:
                admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))

    def url_of(self, login: str, database: str, **parameters: str) -> str:
        """Return the URL of *database* for *login*, with *parameters* of libpq."""
        parts = urlsplit(f"postgresql://{self.pooler}/{database}" if self.pooler else self.database(database))
        host = parts.netloc.rpartition("@")[2]
        query = "&".join(filter(None, (parts.query, urlencode(parameters, quote_via=quote))))
        return urlunsplit(parts._replace(netloc=f"{login}:secret@{host}", query=query))

    @contextmanager
    def fresh(self, *, migrated: bool = True) -> Iterator[str]:
        """Yield the name of a new database, dropped at the end."""
        name = f"test_{secrets.token_hex(6)}"
        self._create(name, self._template() if migrated else None)
        try:
            yield name
        finally:
            with self._admin() as admin:
                admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def superuser(self, name: str) -> psycopg.Connection[tuple[object, ...]]:
        """Return a superuser's connection to database *name*."""
        return psycopg.connect(self.database(name), autocommit=True)

    def await_ended(self, name: str) -> None:
        """Wait until nobody else is connected to database *name*: what a connection did is counted when it has ended.

        Its client does not wait for that: the server's process ends, and tells its counters, at some time after it.
        """
        deadline = time.monotonic() + within(10)
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
        with self._admin() as admin:
            while admin.execute(others, (name,)).fetchone():
                assert time.monotonic() < deadline, f"somebody is still connected to {name}"
                time.sleep(0.005)

    def _template(self) -> str:
        name = "ledger_template"
        with self._admin() as admin:
            there = admin.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if there is None:
            with suppress(psycopg.errors.DuplicateDatabase):
                self._create(name, None)
            upgrade(self.database(name))
        self.await_ended(name)  # nobody may be connected to what is copied; the server waits for 5 seconds, and refuses
        return name

    def _create(self, name: str, template: str | None) -> None:
        with self._admin() as admin:
            # copying the files takes a tenth of the time of writing them to the log, which nobody needs here
            statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
            admin.execute(statement.format(sql.Identifier(name), sql.Identifier(template or "template1")))

    def _admin(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, autocommit=True)


@contextmanager
def server_folder() -> Iterator[Path]:
    """Yield a folder for a server's files, in memory if it has the room.

    A server there syncs as always, as its checks demand, and waits for no disk; most of the suite was that wait.
    Not below pytest's own: each session that root starts makes that one private again, and the server's user
    loses its way to the data.
    """
    in_memory = MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free >= ENOUGH_BYTES
    parent = MEMORY_DISK if in_memory else None
    with tempfile.TemporaryDirectory(prefix="ledger-", dir=parent, ignore_cleanup_errors=True) as folder:
        remove_if_killed(Path(folder))
        yield Path(folder)


@contextmanager
def embedded(folder: Path, binaries: Path | None = None, name: str = "embedded 18") -> Iterator[Server]:
    """Start an embedded server in *folder* for as long as the context lasts."""
    server = EmbeddedServer(folder, binaries=binaries)
    server.start()
    try:
        yield Server(server.url.replace(f"/{DATABASE}?", "/postgres?"), name)
    finally:
        server.stop()
        shutil.rmtree(server.socket_dir, ignore_errors=True)


@contextmanager
def default_server(folder: Path) -> Iterator[Server]:
    """Yield the server the suite runs on; with TEST_POOLER=pgbouncer applications come through one."""
    with direct_server(folder) as server:
        if os.environ.get("TEST_POOLER") == "pgbouncer":
            from tests.support.pooler import pooled  # noqa: PLC0415 - it needs this module

            with pooled(server) as behind:
                yield behind
        else:
            yield server


@contextmanager
def direct_server(folder: Path) -> Iterator[Server]:
    """Yield the server the suite runs on, with nothing in front of it."""
    url = os.environ.get("TEST_DATABASE_URL")
    if url:
        yield Server(url, "TEST_DATABASE_URL")
    elif os.environ.get("TEST_POSTGRES") == "container":
        with contained() as server:
            yield server
    else:
        with embedded(folder) as server:
            yield server


@contextmanager
def contained() -> Iterator[Server]:
    """Yield a server in a container, of TEST_POSTGRES_IMAGE; without an engine, skip and say so."""
    engine = shutil.which("docker")
    if engine is None or subprocess.run([engine, "info"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no Docker engine answers here, so there is no PostgreSQL in a container")
    from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 - needed here only

    image = os.environ.get("TEST_POSTGRES_IMAGE", CONTAINER_IMAGE)
    with PostgresContainer(image, username="postgres", driver=None).with_env(*CONTAINER_CLUSTER) as container:
        yield Server(container.get_connection_url(), "container")


@contextmanager
def postgres_15(folder: Path) -> Iterator[Server]:
    """Yield Debian's PostgreSQL 15, or skip and say so."""
    if not POSTGRES_15.exists():
        pytest.skip("PostgreSQL 15 is not installed here (Debian package postgresql-15)")
    with embedded(folder, POSTGRES_15, "Debian 15") as server:
        yield server
