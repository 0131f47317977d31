"""The command ``view``."""

import os
import sys
import webbrowser
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated
from urllib.parse import urlencode

import typer

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state
from ledger.cli.app import Options, app, command, options, run
from ledger.cli.common_options import UserOption, config_in
from ledger.cli.export import write_file
from ledger.cli.import_files import import_one
from ledger.cli.import_report import placed
from ledger.cli.output import counted
from ledger.errors import InvalidInput, LedgerError
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.server.service import Service
from ledger.stores.factory import open_store
from projections.memory_config import config as memory_config


@command(app)
def view(
    target: Annotated[
        str | None, typer.Argument(metavar="[SESSION|FILE]", help="The session's id, or a file as `import` takes it.")
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write the session to one HTML file instead.")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option("--config", metavar="FILE", help="A what-if for that file; may be repeated.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    user: UserOption = None,
) -> None:
    """Look at a session, a transcript or all sessions in a browser, or write one HTML file.

    A file is read into memory and stored nowhere. The page is served on this machine only, to the browser that opens
    the printed address first, until interrupted; nothing can be written through it. With --html, one file holds the
    page and the session: it needs no network, proves itself, and gives the export back.
    """
    from ledger.server.view_service import open_view, serve_view  # noqa: PLC0415 - loads the web framework

    opts = options()
    if config and html is None:
        raise InvalidInput("bad_arguments", "goes with --html; in the browser, ask the what-if there", field="--config")
    if html is not None and target is None:
        raise InvalidInput("missing_field", "name a session or a file for --html", field="SESSION")

    def ready(address: str) -> None:
        opts.output.result({"url": address}, lambda: opts.output.say(f"open {address}\nCtrl-C ends it"))
        sys.stdout.flush()
        if not no_browser and _has_screen():
            webbrowser.open(address)

    async def work() -> None:
        async with _store_of(opts, target) as store, open_view(opts.settings, store) as service:
            session = await _session_of(service, opts, target, user)
            if html is None:
                own = None if target is not None and _is_file(target) else opts.settings
                await serve_view(service, own, port=port, path=_path_of(session), ready=ready)
                return
            if session is None:
                raise InvalidInput(
                    "several_sessions", "has several sessions; import it, and name one", field=target or ""
                )
            written = await _write(service, opts, session, html, config or ())
            text = f"{counted(written, 'byte')} in {html}"
            if html != "-":
                opts.output.result({"file": html, "bytes": written}, lambda: opts.output.say(text))

    run(work)


async def _write(
    service: Service, opts: Options, session: tuple[str, str | None], html: str, configs: Sequence[str]
) -> int:
    """Write *session* to the file *html*; return its bytes."""
    from ledger.server.ui.one_file import one_file  # noqa: PLC0415 - as above
    from ledger.server.view_service import answers_of  # noqa: PLC0415 - as above

    tried = [memory_config.dump(config_in(name)) for name in configs]
    ledger = MemoryLedger(NamespaceHandle(service.services, service.namespace, opts.settings.actor))
    names = {"session_id": session[0], "user_id": session[1], "namespace": service.namespace}
    lines = ledger.export_file(session[0], user_id=session[1])
    _, size = await write_file(html, one_file(lines, answers_of(service, *session), names=names, configs=tried))
    return size


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


async def _session_of(
    service: Service, opts: Options, target: str | None, user: str | None
) -> tuple[str, str | None] | None:
    """Return the session to show and its user, after reading the file that *target* names; None for a list of all.

    Raises:
        SessionNotFound: there is no such session.
        ImportRefused, InvalidInput: the file cannot be imported.
    """
    if target is None:
        return None
    handle = NamespaceHandle(service.services, service.namespace, opts.settings.actor)
    if not _is_file(target):
        await existing_state(handle, target, user_id=user)
        return target, user
    ledger = MemoryLedger(handle)
    with opts.output.progress("Reading", "sessions") as progress:
        try:
            await import_one(ledger, target, None, user, progress)
        except LedgerError as fault:
            raise placed(fault, target) from None
    read = await ledger.list_sessions(limit=2)
    return (read[0].session_id, read[0].user_id or None) if len(read) == 1 else None


def _path_of(session: tuple[str, str | None] | None) -> str:
    if session is None:
        return "ui/"
    asked = {"id": session[0], **({"user": session[1]} if session[1] else {})}
    return f"ui/session?{urlencode(asked)}"


def _is_file(target: str) -> bool:
    return target == "-" or os.path.isfile(target)  # noqa: PTH113 - a session's id may be no path at all


def _has_screen() -> bool:
    """Return whether a browser would open in a window; in a terminal it would take the place of this command."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
