"""What several commands share: arguments, moments, and opening the ledger."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Annotated, TypeAlias

import typer

from ledger.cli.app import Options
from ledger.cli.file_source import read_bounded
from ledger.errors import EntryNotFound, InvalidInput, SessionNotFound
from ledger.events import EntryAdded
from ledger.events.strict_json import BODY, parse
from ledger.memory import MemoryLedger
from ledger.results import When
from ledger.session.entry_drafts import check_time
from ledger.stores.factory import open_store
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig

SessionArgument: TypeAlias = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
UserOption: TypeAlias = Annotated[str | None, typer.Option("--user", metavar="NAME", help="The session's user.")]
AtOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--at", metavar="VERSION|TIMESTAMP", help="Look back; a timestamp needs an offset, e.g. Z."),
]


@asynccontextmanager
async def opened(options: Options) -> AsyncIterator[MemoryLedger]:
    """Open the ledger that the options and the environment name."""
    settings = options.settings
    if options.output.json or not options.output.errors.is_terminal:
        store = await open_store(settings)
    else:
        with options.output.errors.status("Opening the database …"):
            store = await open_store(settings)
    try:
        async with MemoryLedger.open(namespace=settings.namespace, actor=settings.actor, store=store) as ledger:
            yield ledger
    finally:
        await store.close()


async def check_exists(ledger: MemoryLedger, session: str, user: str | None) -> None:
    """Refuse a session that does not exist.

    Raises:
        SessionNotFound: it has no events.
    """
    if not (await ledger.get_stats(session, user_id=user)).version:
        raise SessionNotFound(session)


async def entry_id_of(ledger: MemoryLedger, session: str, entry: str, user: str | None) -> str:
    """Return the id of an *entry*, given by id, or by the version that `show` prints before it.

    Raises:
        EntryNotFound: it is a number, and neither the id nor the version of an entry.
    """
    if not (entry.isascii() and entry.isdigit()):
        return entry
    try:
        return (await ledger.get_entry(session, entry, user_id=user)).entry_id
    except EntryNotFound:
        found = await ledger.get_events(session, after_version=max(int(entry[:18]) - 1, 0), limit=1, user_id=user)
        payload = found[0].payload if found else None
        if isinstance(payload, EntryAdded) and str(found[0].version) == entry:
            return payload.entry_id
        raise


def when(at: str | None, user: str | None) -> When:
    """Return ``--at`` and ``--user`` as arguments of the library.

    Raises:
        InvalidInput: *at* is neither a version nor a timestamp with an offset.
    """
    chosen: When = {"user_id": user}
    if at is None:
        return chosen
    if at.isascii() and at.isdigit():
        chosen["version"] = int(at)
        return chosen
    chosen["at"] = timestamp(at)
    return chosen


def point(text: str, name: str) -> int | datetime:
    """Return a version, or a timestamp with an offset; *name* is the argument's.

    Raises:
        InvalidInput: *text* is neither.
    """
    return int(text) if text.isascii() and text.isdigit() else timestamp(text, name)


def config_in(file: str) -> MemoryConfig:
    """Return the memory config in a JSON *file* (``-`` is standard input), of any accepted shape.

    Raises:
        InvalidInput: *file* cannot be read, or is not a config; the field is its name and the JSON path of the error.
    """
    try:
        return memory_config.load(parse(read_bounded(file, limit=BODY.size)))
    except InvalidInput as fault:
        if fault.field == file:
            raise
        message = str(fault).removeprefix(f"{fault.field}: ") if fault.field else str(fault)
        where = f"{file}: {fault.field}" if fault.field else file
        raise InvalidInput(fault.code, message, field=where) from None


def timestamp(text: str, name: str = "--at") -> datetime:
    """Return an ISO 8601 timestamp with an offset; *name* is the argument's.

    Raises:
        InvalidInput: *text* is not such a timestamp.
    """
    with suppress(InvalidInput):
        moment = check_time(text, name)
        if moment is not None:
            return moment
    message = "must be a version or a timestamp with an offset, e.g. 2026-01-31T09:00:00Z"
    raise InvalidInput("bad_time", message, field=name)
