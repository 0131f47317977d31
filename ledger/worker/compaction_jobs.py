"""Compactions whose process ended before it finished or started them. Source: R-CMP-10, http W-45."""

from ledger.events.ids import Stream
from ledger.worker.completion import Ending
from ledger.worker.namespace_jobs import ACTOR, WorkedNamespace


async def compact(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Go on with a rebuild, record abandoned compactions as such, start due ones, and wait until all end.

    Due are those that the newest batch of entries made due.
    The compactor records request and outcome, each at the version it was decided on. If two workers do the same, the
    later result is discarded (trust M-2).
    """
    services = worked.handle.services
    state, backlog = await worked.read(stream)
    services.compactor.rebuilder.resume(stream, state, actor=ACTOR, claimed=True)
    if backlog.batch:
        await services.compactor.evaluate(stream, state, actor=ACTOR)
    else:
        await services.compactor.abandon_stale(stream, state, actor=ACTOR)
    await services.compactor.settle(stream)
    return "done"
