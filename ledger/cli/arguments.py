"""What several commands share: arguments, moments, and opening the ledger."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Annotated, TypeAlias

import typer

from ledger.cli.app import Options
from ledger.drafts import check_moment
from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.opening import open_store
from ledger.results import When

SessionArgument: TypeAlias = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")]
UserOption: TypeAlias = Annotated[str | None, typer.Option("--user", metavar="NAME", help="The session's user.")]
AtOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--at", metavar="VERSION|TIMESTAMP", help="As it was then; a timestamp needs an offset, e.g. Z."),
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


def when(at: str | None, user: str | None) -> When:
    """Return ``--at`` and ``--user`` as the library takes them.

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


def timestamp(text: str) -> datetime:
    """Return an ISO 8601 timestamp with an offset.

    Raises:
        InvalidInput: it is none.
    """
    with suppress(InvalidInput):
        moment = check_moment(text, "--at")
        if moment is not None:
            return moment
    raise InvalidInput(
        "bad_time", "is neither a version nor a timestamp with an offset, e.g. 2026-01-31T09:00:00Z", field="--at"
    )
