"""The folders of the embedded server, what they say of it, and the user that it runs as if this process is root."""

import os
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from ledger.errors import DatabaseUnavailable

if TYPE_CHECKING:
    import pwd

_ROOT_RUNS_AS: Final = "postgres"


def own(folder: Path, binaries: Path) -> None:
    """Create *folder* for the server only; as root, let the server's user reach it and the programs in *binaries*.

    Raises:
        DatabaseUnavailable: it cannot be created, or belongs to somebody else.
    """
    user = server_user()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        if user is None:
            return
        os.chown(folder, user.pw_uid, user.pw_gid)
        for leaf in (folder, binaries.resolve()):
            for parent in leaf.parents:
                mode = parent.stat().st_mode
                if parent.stat().st_uid != user.pw_uid and not mode & stat.S_IXOTH:
                    parent.chmod(mode | stat.S_IXOTH)
    except OSError as fault:
        words = "it is not a folder" if isinstance(fault, FileExistsError) else os.strerror(fault.errno or 0)
        raise DatabaseUnavailable(f"the folder {folder} of the embedded PostgreSQL cannot be used: {words}") from None


def is_root() -> bool:
    """Tell whether this process is root; nobody is where there are no such users."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def server_user() -> "pwd.struct_passwd | None":
    """Return the user to run the server as if this process is root; create one if there is none.

    Raises:
        DatabaseUnavailable: no user can be created.
    """
    if not is_root():
        return None
    import pwd  # noqa: PLC0415 - is not on every platform

    for name in (_ROOT_RUNS_AS, "memory-ledger"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    created = subprocess.run(
        ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "memory-ledger"],
        check=False,
        capture_output=True,
    )
    if created.returncode != 0:
        raise DatabaseUnavailable("PostgreSQL cannot run as root; run as another user, or create a user postgres")
    return pwd.getpwnam("memory-ledger")


def is_starting(cluster: Path) -> bool:
    """Tell whether a process is about to be the server of *cluster*, which may have no pid file yet."""
    commands = (" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"]))
    return any("postgres" in command and "-D" in command and str(cluster) in command for command in commands)


def lost_socket(cluster: Path, socket: str) -> bool:
    """Tell whether the server's *socket* is gone: it names the folder in its pid file once it has made it."""
    with suppress(OSError):
        named = (cluster / "postmaster.pid").read_text().splitlines()[4:5]
        return any(named) and not (Path(named[0]) / socket).exists()
    return False
