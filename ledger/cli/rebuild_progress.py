"""Wait for a rebuild on the command line."""

import asyncio
from contextlib import suppress
from typing import Final

from ledger.cli.output import Output, counted
from ledger.errors import RebuildNotCompleted
from ledger.memory import MemoryLedger
from ledger.results import Configured

_LOOK_S: Final = 0.2


async def rebuilt(
    ledger: MemoryLedger, output: Output, session: str, changed: Configured, *, user_id: str | None
) -> Configured:
    """Return *changed* when the rebuild that it asked for is completed; show how far it is.

    Raises:
        RebuildNotCompleted: it failed, or another change of the session ended it.
    """
    if changed.rebuild_id is None:
        return changed
    waiting = asyncio.create_task(ledger.settle(session, user_id=user_id))
    try:
        with output.progress("Rebuilding", "versions") as progress:
            while not waiting.done():
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(waiting), _LOOK_S)
                found = await ledger.get_rebuild(session, user_id=user_id)
                if found is not None:
                    progress(found.until, found.requested_version)
    finally:
        waiting.cancel()
    if found is None or found.rebuild_id != changed.rebuild_id:
        raise RebuildNotCompleted("superseded", "the session was changed in another way meanwhile")
    if found.status != "completed":
        raise RebuildNotCompleted(found.reason or "error", found.detail or "it was interrupted")
    output.note(f"rebuilt; a model wrote {counted(found.summaries, 'summary')}")
    return changed
