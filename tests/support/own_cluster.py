"""A plain server of Debian's PostgreSQL 15 on a loopback port, which asks for passwords."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support.databases import POSTGRES_15, Server, server_folder


class Cluster:
    """A cluster in *data*, which listens on *port* of 127.0.0.1; its superuser is ``postgres``."""

    def __init__(self, data: Path) -> None:
        self.data = data
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    @property
    def server(self) -> Server:
        """The server, to make databases on."""
        return Server(f"postgresql://postgres@/postgres?host={self.data.parent}&port={self.port}", "Debian 15")

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL as the user of the servers."""
        user = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
        command = [POSTGRES_15 / program, *arguments]
        done = subprocess.run(command, user=user, capture_output=True, text=True, check=False, cwd="/", timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr

    def permit(self, *lines: str) -> None:
        """Put *lines* before those of its pg_hba.conf."""
        rules = self.data / "pg_hba.conf"
        rules.write_text("".join(f"{line}\n" for line in (*lines, rules.read_text())))
        self.execute("SELECT pg_reload_conf()")

    def execute(self, *statements: str) -> None:
        """Run *statements* as superuser."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[call-overload]

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = f"-c port={self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.data.parent}"
        log = str(self.data.parent / f"{self.data.name}.log")
        self.run("pg_ctl", "-D", str(self.data), "-l", log, "-o", options, "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it if it runs, as an administrator does or, *immediate*, as a crash."""
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    def set(self, **settings: str) -> None:
        """Change settings that need no restart."""
        statements = [
            sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
            for name, value in settings.items()
        ]
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            for statement in (*statements, sql.SQL("SELECT pg_reload_conf()")):
                connection.execute(statement)

    def wait_for(self, standby: "Cluster") -> None:
        """Return once *standby* has replayed all that is written here now."""
        with psycopg.connect(self.server.url) as here, psycopg.connect(standby.server.url) as there:
            written = here.execute("SELECT pg_current_wal_lsn()").fetchone()
            deadline = time.monotonic() + 20
            while there.execute("SELECT pg_last_wal_replay_lsn() >= %s", written).fetchone() != (True,):
                assert time.monotonic() < deadline, "the standby does not follow"
                time.sleep(0.02)
                there.rollback()

    def promote(self) -> None:
        """Make a standby the primary."""
        self.run("pg_ctl", "-D", str(self.data), "-w", "promote")

    @contextmanager
    def standby(self) -> Iterator["Cluster"]:
        """Yield a running standby of this primary."""
        copy = Cluster(self.data.parent / "standby")
        source = f"host={self.data.parent} port={self.port} user=postgres"
        self.run("pg_basebackup", "-d", source, "-D", str(copy.data), "-R", "-X", "stream", "-c", "fast")
        copy.start()
        try:
            yield copy
        finally:
            copy.stop("immediate")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Yield a new running cluster, or skip and say so."""
    if not POSTGRES_15.exists():
        pytest.skip("PostgreSQL 15 is not installed here (Debian package postgresql-15)")
    with server_folder() as folder:
        folder.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        found = Cluster(folder / "primary")
        found.run(
            "initdb",
            "-D",
            str(found.data),
            "--username=postgres",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--locale=C",
            "--encoding=UTF8",
            "--no-sync",
            "--data-checksums",
        )
        found.start()
        try:
            yield found
        finally:
            found.stop("immediate")
