"""Compactions whose process ended before it finished or started them. Source: R-CMP-10, http W-45."""

from ledger.ids import Stream
from ledger.worker.completion import Ending
from ledger.worker.namespace import ACTOR, WorkedNamespace


async def compact(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Record abandoned compactions as such, start those that the newest batch made due, and wait until they end.

    The compactor records request and outcome, each at the version it was decided on. If two workers do the same, the
    later result is discarded (trust M-2).
    """
    services = worked.handle.services
    state, backlog = await worked.read(stream)
    if backlog.batch:
        await services.compactor.evaluate(stream, state, actor=ACTOR)
    else:
        await services.compactor.abandon_stale(stream, state, actor=ACTOR)
    await services.compactor.settle(stream)
    return "done"
