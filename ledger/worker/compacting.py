"""Compactions that nobody else will do: their process is gone, or was before it began. Source: R-CMP-10, W-45."""

from ledger.ids import Stream
from ledger.worker.completing import Ending
from ledger.worker.site import Site


async def compact(site: Site, stream: Stream) -> Ending:
    """Record that abandoned compactions are, begin what is due, and wait until it is done.

    The compactor records request and outcome, each at the version it was decided on: of two that do the same one
    comes too late, and its result is discarded (trust M-2).
    """
    await site.compactor.evaluate(stream, await site.states.current(stream))
    await site.compactor.settle(stream)
    return "done"
