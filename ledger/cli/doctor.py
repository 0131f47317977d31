"""The command ``doctor``."""

import typer

from ledger.cli.app import app, command, options, run
from ledger.doctor import Check, examine
from ledger.stores.factory import ready_url

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
        return await examine(url, embedded=embedded)

    checks = run(work)
    worst = max((check.level for check in checks), key=("ok", "weaker", "fails").index, default="ok")

    def show() -> None:
        for check in checks:
            mark, style = {"ok": ("✓", "green"), "weaker": ("!", "yellow"), "fails": ("✗", "bold red")}[check.level]
            opts.output.say(f"{mark} {check.name}: {check.found}", style)

    opts.output.result({"verdict": worst, "checks": checks}, show)
    if worst != "ok":
        raise typer.Exit(_WEAKER if worst == "weaker" else _WILL_NOT_START)
