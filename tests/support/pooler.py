"""PgBouncer in front of a test server, configured as docs/operating.md says."""

import configparser
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import psycopg
import pytest
from psycopg import conninfo, sql

from tests.support.databases import APPLICATION, Server

PAGE = Path(__file__).parents[2] / "docs" / "operating.md"
DEBIAN = Path("/usr/sbin/pgbouncer")


@contextmanager
def pooled(server: Server, **settings: str) -> Iterator[Server]:
    """Yield *server* with PgBouncer in front, or skip and say so; *settings* are added to what is documented."""
    program = _program()
    _make_login(server)
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as name:
        folder = Path(name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        configured = folder / "pgbouncer.ini"
        with configured.open("w") as file:
            _configuration(server, folder, port, settings).write(file)
        as_user = []
        if os.geteuid() == 0:  # it does not run as root
            as_user = ["-u", "postgres"]
            folder.chmod(0o755)
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([program, *as_user, str(configured)], stderr=said)
            try:
                _wait(process, port, said)
                yield replace(server, pooler=f"127.0.0.1:{port}")
                assert process.poll() is None, f"PgBouncer ended by itself: {_last_line(said)}"
            finally:
                process.terminate()
                process.wait(timeout=20)


def follows_no_statements() -> dict[str, str]:
    """Return the settings with which PgBouncer leaves prepared statements to its clients, as all did before 1.21."""
    version = subprocess.run([_program(), "--version"], capture_output=True, check=True, text=True).stdout
    numbers = re.findall(r"\d+", version)
    return {"max_prepared_statements": "0"} if (int(numbers[0]), int(numbers[1])) >= (1, 21) else {}


def _program() -> str:
    program = shutil.which("pgbouncer") or (str(DEBIAN) if DEBIAN.exists() else None)
    if program is None:
        pytest.skip("PgBouncer is not installed here (Debian package pgbouncer)")
    return program


def documented() -> configparser.ConfigParser:
    """Return the configuration that the page about deployment gives."""
    block = re.search(r"^```ini\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert block, "the page has no configuration of PgBouncer"
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(block[1])
    return config


def _configuration(server: Server, folder: Path, port: int, settings: dict[str, str]) -> configparser.ConfigParser:
    """Return the documented configuration, with the addresses and logins of this test."""
    there = conninfo.conninfo_to_dict(server.url)
    users = folder / "userlist.txt"
    users.write_text(f'"{there.get("user", "postgres")}" "{there.get("password", "")}"\n')
    config = documented()
    for database in config.options("databases"):
        config.remove_option("databases", database)
    config.set("databases", "*", f"host={there['host']} port={there.get('port', 5432)}")
    section = config["pgbouncer"]
    section.update(
        {
            "listen_port": str(port),
            "unix_socket_dir": "",
            "auth_file": str(users),
            "auth_user": str(there.get("user", "postgres")),  # tests make logins as they go
            **settings,
        }
    )
    return config


def _make_login(server: Server) -> None:
    with server.fresh() as database, server.superuser(database) as mighty, mighty.transaction():
        mighty.execute("SELECT pg_advisory_xact_lock(hashtextextended('tests.pgbouncer', 0))")
        if mighty.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (APPLICATION,)).fetchone() is None:
            login = sql.Identifier(APPLICATION)
            mighty.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret' IN ROLE ledger_app").format(login))


def _wait(process: subprocess.Popen[bytes], port: int, said: IO[bytes]) -> None:
    for _ in range(100):
        if process.poll() is not None:
            raise AssertionError(_last_line(said))
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("PgBouncer does not listen")


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    return (said.read().decode(errors="replace").splitlines() or [""])[-1]


def server_connections(server: Server, database: str, *, but: Set[int] = frozenset()) -> set[int]:
    """Return the processes of the server for connections to *database*, *but* those given and its own."""
    with psycopg.connect(server.database(database)) as direct:
        found = direct.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        ).fetchall()
    return {int(row[0]) for row in found} - but
