"""A temporary embedded PostgreSQL, with a migrated database for each workload."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from ledger.stores.embedded.server import DATABASE, EmbeddedServer
from ledger.stores.factory import prepare

_LOGIN: Final = "bench_application"


class Databases:
    """Creates databases on *server*, as copies of its migrated one."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self.postgres_version = server.status().postgres_version
        with self._admin() as admin:
            admin.execute(sql.SQL("CREATE ROLE {} LOGIN IN ROLE ledger_app").format(sql.Identifier(_LOGIN)))

    @classmethod
    @contextmanager
    def temporary(cls) -> "Iterator[Databases]":
        """Start a server in a temporary folder, and stop it at the end."""
        with tempfile.TemporaryDirectory(prefix="memory-ledger-bench-") as folder:
            server = EmbeddedServer(folder)
            prepare(server)
            try:
                yield cls(server)
            finally:
                server.stop()

    @contextmanager
    def fresh(self, name: str) -> Iterator[tuple[str, str]]:
        """Create a database; yield its URL for the owner of the server and that for an application; drop it."""
        own = f"bench_{name}"
        database, template = sql.Identifier(own), sql.Identifier(DATABASE)
        with self._admin() as admin:
            admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(database, template))
        try:
            yield self._url(own), self._url(own, login=_LOGIN)
        finally:
            with self._admin() as admin:
                admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))

    def _admin(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._url("postgres"), autocommit=True)

    def _url(self, database: str, *, login: str | None = None) -> str:
        parts = urlsplit(self._server.url)
        return urlunsplit(parts._replace(path=f"/{database}", netloc=f"{login}@" if login else parts.netloc))
