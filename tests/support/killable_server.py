"""A server that tests may kill, restart and configure."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from ledger.stores.embedded.folders import server_user
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.postgres import Target
from tests.support.databases import Server, embedded, server_folder


def kill(server: EmbeddedServer) -> None:
    """Kill the postmaster and everything it started."""
    postmaster = server.postmaster()
    assert postmaster is not None, "the server does not run"
    for process in (postmaster, *postmaster.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            process.kill()


class KillableServer:
    """The embedded server in *folder*; *server* makes databases on it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self._embedded = EmbeddedServer(folder)

    def target(self, database: str, *, via: Path | None = None, allow_unsafe: bool = False) -> Target:
        """Return *database* as the application's target, through the socket in folder *via* if given."""
        url = self.server.database(database)
        if via is not None:
            assert str(self.socket_dir) in url
            url = url.replace(str(self.socket_dir), str(via))
        return Target(url, embedded=True, allow_unsafe=allow_unsafe)

    @property
    def socket_dir(self) -> Path:
        """The folder of its socket."""
        return self._embedded.socket_dir

    def kill(self) -> None:
        """Kill the postmaster and everything it started, which leaves them no time for anything."""
        kill(self._embedded)

    def kill_postmaster(self) -> None:
        """Kill the postmaster alone; what it started ends when it notices."""
        self._postmaster().kill()

    def zombie_postmaster(self) -> subprocess.Popen[bytes]:
        """Write the id of a zombie process into its lock files, as if nobody had waited for its killed postmaster."""
        user = server_user()
        zombie = subprocess.Popen(
            [self._embedded.binaries / "postgres", "--version"],
            stdout=subprocess.DEVNULL,
            user=user.pw_uid if user else None,
        )
        while psutil.Process(zombie.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        for lock in (self._embedded._cluster / "postmaster.pid", *self._embedded.socket_dir.glob(".*.lock")):
            _, *rest = lock.read_text().splitlines()
            lock.write_text("\n".join([str(zombie.pid), *rest, ""]))
        return zombie

    def start(self) -> None:
        """Start it again, as the next command would, and wait until it takes connections."""
        self._embedded.start()

    def restart(self, mode: str) -> None:
        """Restart it as an administrator does, and wait until it takes connections."""
        cluster, log = str(self._embedded._cluster), str(self._embedded._log)
        self._embedded._run("pg_ctl", "-D", cluster, "-l", log, "-m", mode, "-w", "restart")

    @contextmanager
    def settings(self, *, restart: bool = False, **settings: str) -> Iterator[None]:
        """Change *settings* for all new connections; each value is as the server prints it."""
        before = {name: self._shown(name) for name in settings}
        load = (lambda: self.restart("fast")) if restart else self._reload
        try:
            for name, value in settings.items():
                self._administer(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
            load()
            self._await(settings)
            yield
        finally:
            self._administer(sql.SQL("ALTER SYSTEM RESET ALL"))
            load()
            self._await(before)

    def _postmaster(self) -> psutil.Process:
        postmaster = self._embedded.postmaster()
        assert postmaster is not None, "the server does not run"
        return postmaster

    def _reload(self) -> None:
        self._administer(sql.SQL("SELECT pg_reload_conf()"))

    def _await(self, settings: dict[str, str]) -> None:
        deadline = time.monotonic() + 10
        while {name: self._shown(name) for name in settings} != settings:
            assert time.monotonic() < deadline, f"the server did not take {settings}"
            time.sleep(0.01)

    def _shown(self, name: str) -> str:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            assert row is not None
            return str(row[0])

    def _administer(self, statement: sql.Composable) -> None:
        with psycopg.connect(self.server.url, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def killable_server() -> Iterator[tuple[KillableServer, str]]:
    """Yield a server of these tests' own, and the name of a migrated database on it."""
    with server_folder() as folder, embedded(folder) as server, server.fresh() as database:
        yield KillableServer(server, folder), database
