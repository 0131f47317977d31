"""The command ``view``."""

import os
import sys
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from ledger.cli.app import Options, app, command, options, run
from ledger.cli.arguments import UserOption
from ledger.cli.import_export import import_one, placed
from ledger.errors import LedgerError
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.server.service import Service
from ledger.stores.factory import open_store


@command(app)
def view(
    target: Annotated[
        str | None, typer.Argument(metavar="[SESSION|FILE]", help="The session's id, or a file as `import` takes it.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    user: UserOption = None,
) -> None:
    """Look at a session, a transcript or all sessions in a browser, or write one HTML file.

    A file is read into memory and stored nowhere. The page is served on this machine only, to the browser that opens
    the printed address first, until interrupted; nothing can be written through it.
    """
    from ledger.server.ui.view_service import open_view, serve_view  # noqa: PLC0415 - loads the web framework

    opts = options()

    def ready(address: str) -> None:
        opts.output.result({"url": address}, lambda: opts.output.say(f"open {address}\nCtrl-C ends it"))
        sys.stdout.flush()
        if not no_browser and _has_screen():
            webbrowser.open(address)

    async def work() -> None:
        async with _store_of(opts, target) as store, open_view(opts.settings, store) as service:
            path = await _path_of(service, opts, target, user)
            await serve_view(service, port=port, path=path, ready=ready)

    run(work)


@asynccontextmanager
async def _store_of(opts: Options, target: str | None) -> AsyncIterator[Store]:
    """Open the ledger; for a file one in memory."""
    if target is not None and _is_file(target):
        from ledger.stores.in_memory import InMemoryStore  # noqa: PLC0415 - only for files

        yield InMemoryStore()
        return
    store = await open_store(opts.settings)
    try:
        yield store
    finally:
        await store.close()


async def _path_of(service: Service, opts: Options, target: str | None, user: str | None) -> str:
    """Return the path of the page to open, after reading the file that *target* names.

    Raises:
        SessionNotFound: there is no such session.
        ImportRefused, InvalidInput: the file cannot be imported.
    """
    if target is None:
        return "ui/"
    ledger = MemoryLedger(service.services.handle(service.namespace, opts.settings.actor))
    if _is_file(target):
        with opts.output.progress("Reading", "sessions") as progress:
            try:
                await import_one(ledger, target, None, user, progress)
            except LedgerError as fault:
                raise placed(fault, target) from None
        read = await ledger.list_sessions(limit=2)
        if len(read) != 1:
            return "ui/"
        target, user = read[0].session_id, read[0].user_id
    else:
        await ledger.get_stats(target, user_id=user)
    asked = {"id": target, **({"user": user} if user else {})}
    return f"ui/session?{urlencode(asked)}"


def _is_file(target: str) -> bool:
    return target == "-" or Path(target).is_file()


def _has_screen() -> bool:
    """Return whether a browser would open in a window; in a terminal it would take the place of this command."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
