"""A plain server of Debian's PostgreSQL 15 on a loopback port, which asks for passwords."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
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

    @property
    def postmaster_id(self) -> int:
        """The id of its first process."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL as the user of the servers."""
        user = pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None
        command = [POSTGRES_15 / program if (POSTGRES_15 / program).exists() else program, *arguments]
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

    def unfollow(self) -> None:
        """Let this standby get no more from its primary."""
        self.set(primary_conninfo="")
        deadline = time.monotonic() + 20
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            while connection.execute("SELECT count(*) FROM pg_stat_wal_receiver").fetchone() != (0,):
                assert time.monotonic() < deadline, "it still follows"
                time.sleep(0.02)

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

    def base_backup(self, name: str, *options: str) -> "Cluster":
        """Return a copy of this cluster that does not run yet."""
        copy = Cluster(self.data.parent / name)
        source = f"host={self.data.parent} port={self.port} user=postgres"
        self.run("pg_basebackup", "-d", source, "-D", str(copy.data), "-X", "stream", "-c", "fast", *options)
        return copy

    def archive(self) -> None:
        """Archive the log from now on, in the folder beside; it restarts."""
        self.run("mkdir", "-p", str(self._archive))
        self.set(archive_mode="on", archive_command=f"cp %p {self._archive}/%f")
        self.stop()
        self.start()

    def archive_all(self) -> None:
        """Return once all that is written is archived."""
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            segment = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
        assert segment is not None
        deadline = time.monotonic() + 20
        while not (self._archive / str(segment[0])).exists():
            assert time.monotonic() < deadline, "the log is not archived"
            time.sleep(0.02)
        time.sleep(0.2)  # the copy may be under way

    def recover(self, moment: datetime) -> None:
        """Start this copy as the cluster was at *moment*, from the archive, and wait until it takes writes."""
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"restore_command = 'cp {self._archive}/%f %p'\n")
            settings.write(f"recovery_target_time = '{moment.isoformat()}'\nrecovery_target_action = promote\n")
        (self.data / "recovery.signal").touch()
        self.start()
        deadline = time.monotonic() + 20
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            while connection.execute("SELECT pg_is_in_recovery()").fetchone() != (False,):
                assert time.monotonic() < deadline, "it does not recover"
                time.sleep(0.02)

    @property
    def _archive(self) -> Path:
        return self.data.parent / "archive"

    @contextmanager
    def standby(self) -> Iterator["Cluster"]:
        """Yield a running standby of this primary."""
        copy = self.base_backup("standby", "-R")
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
