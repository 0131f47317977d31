"""One write of a thread: in its turn, and stored once although an answer was lost. Source: adapters AD-10, LG-13."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ledger.adapters.opened_ledger import repeated
from ledger.adapters.sdk_sessions import UNCHANGED
from ledger.application.commands.session_turns import SessionTurns
from ledger.memory import MemoryLedger
from ledger.results import KeptBatch


@asynccontextmanager
async def turn(turns: SessionTurns, session: str, *, together: bool) -> AsyncIterator[None]:
    """Let what tasks wrote go *together*, and a checkpoint alone, so that it knows the version before it."""
    key = hash(session)
    await turns.begin(key, together=together)
    try:
        yield
    finally:
        turns.end(key, together=together)


async def write_once(
    ledger: MemoryLedger, session: str, kept: list[dict[str, Any]], **options: Any
) -> KeptBatch | None:
    """Store *kept* and return what became of it; None if a try that seemed to fail had stored it.

    The last value tells, which no other write stores: an idempotency key would cost each write a row.
    """

    async def attempt(own: MemoryLedger) -> KeptBatch | None:
        if next(tries):
            last = await own.get_kept(session, kept[-1]["space"], kept[-1]["key"])
            if last is not None and last.value == kept[-1]["value"]:
                return None
        return await own.keep(session, kept, config=UNCHANGED, **options)

    tries = itertools.count()
    return await repeated(attempt)(ledger)
