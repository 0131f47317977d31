"""Compactions that nobody else will do: their process is gone, or was before it began. Source: R-CMP-10, http W-45."""

from ledger.ids import Stream
from ledger.worker.completing import Ending
from ledger.worker.namespace import ACTOR, WorkedNamespace


async def compact(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Record that abandoned compactions are, begin what is due, and wait until it is done.

    The compactor records request and outcome, each at the version it was decided on: of two that do the same one
    comes too late, and its result is discarded (trust M-2).
    """
    services = worked.handle.services
    await services.compactor.evaluate(stream, await services.states.current(stream), actor=ACTOR)
    await services.compactor.settle(stream)
    return "done"
