"""The command ``doctor``."""

import os
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from typing import Final

import typer
from pydantic_settings import BaseSettings

from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import opened
from ledger.errors import LedgerError
from ledger.server.service_settings import ServiceSettings
from ledger.settings import FILE, Settings, secrets_of
from ledger.stores.factory import ready_url
from ledger.stores.snapshot_key import key_file
from ledger.verification.database_checks import Check, examine
from ledger.worker.worker_settings import WorkerSettings

_PREFIX: Final = "MEMORY_LEDGER_"
_OF_ONE_COMMAND: Final = {f"{_PREFIX}IMPORT_TOKEN", f"{_PREFIX}IMPORT_TOKEN{FILE}"}
_WEAKER = 3
_WILL_NOT_START = 4


@command(app)
def doctor() -> None:
    """Check settings, roles, guards and versions; say which promise is weaker here, and why.

    Exit codes: 0 all promises hold; 3 a promise is weaker; 4 the ledger would not start.
    """
    opts = options()
    settings = opts.settings
    url, embedded = ready_url(settings), settings.database_url is None

    async def work() -> list[Check]:
        with suppress(LedgerError):  # the checks below say what is wrong
            async with opened(opts) as ledger:
                await ledger.list_sessions(limit=1)  # brings the list up to date, which knows the failing sessions
        return await examine(url, embedded=embedded, timeout_s=settings.database_timeout_s)

    checks = [*run(work), check_key(settings), check_environment(os.environ)]
    worst = max((check.level for check in checks), key=("ok", "weaker", "fails").index, default="ok")

    def show() -> None:
        for check in checks:
            mark, style = {"ok": ("✓", "green"), "weaker": ("!", "yellow"), "fails": ("✗", "bold red")}[check.level]
            opts.output.say(f"{mark} {check.name}: {check.found}", style)

    opts.output.result({"verdict": worst, "checks": checks}, show)
    if worst != "ok":
        raise typer.Exit(_WEAKER if worst == "weaker" else _WILL_NOT_START)


def check_key(settings: Settings) -> Check:
    """Return whether there is a key that proves snapshots, and whether others can read its file."""
    if settings.key is not None:
        return Check("snapshot key", "ok", "set")
    path = key_file(settings)
    if path is None:
        return Check(
            "snapshot key",
            "ok",
            f"none, so each new process reads long sessions from their first event; set {_PREFIX}KEY{FILE}",
        )
    try:
        others = path.stat().st_mode & 0o077 if os.name == "posix" else 0
    except OSError:
        return Check("snapshot key", "ok", f"none yet; {path} is created when the ledger is opened")
    if others:
        return Check("snapshot key", "weaker", f"others may read {path}; run `chmod 600` on it")
    return Check("snapshot key", "ok", str(path))


def check_environment(names: Iterable[str]) -> Check:
    """Return whether each of *names* that begins like a variable of ours is one."""
    known = [name.removeprefix(_PREFIX) for name in known_variables()]
    ours = {name: name.upper().removeprefix(_PREFIX) for name in sorted(names) if name.upper().startswith(_PREFIX)}
    found = []
    for name, own in ours.items():
        if own not in known:
            nearest = get_close_matches(own, known, n=1, cutoff=0.7)
            found.append(f"{name} is no setting" + (f"; did you mean {_PREFIX}{nearest[0]}?" if nearest else ""))
    if found:
        return Check("environment", "weaker", ", ".join(found))
    return Check("environment", "ok", f"every variable {_PREFIX}… is known")


def known_variables() -> set[str]:
    """Return the names of all our variables in the environment."""
    kinds: tuple[type[BaseSettings], ...] = (Settings, ServiceSettings, WorkerSettings)
    names = {
        str(field.validation_alias or f"{kind.model_config.get('env_prefix', '')}{name}").upper()
        for kind in kinds
        for name, field in kind.model_fields.items()
    }
    names |= {f"{name}{FILE}" for kind in kinds for name in secrets_of(kind)}
    return {name for name in names if name.startswith(_PREFIX)} | _OF_ONE_COMMAND
