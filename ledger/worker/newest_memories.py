"""Promote what was noted just now, before the jobs of all older sessions are known. Source: http W-49."""

import logging
from typing import Final

from ledger.errors import LedgerError
from ledger.events import MemoryAdded, MemoryEdited
from ledger.indexes.jobs import WorkPlan
from ledger.indexes.jobs.due import due_jobs
from ledger.indexes.stored_projections.build_choice import live_build
from ledger.indexes.stored_projections.log_pages import read_page
from ledger.worker.namespace_jobs import WorkedNamespace
from ledger.worker.promotion_jobs import promote

log = logging.getLogger("ledger")

#: Events at the end of the log that are looked at, if the index of jobs is further behind.
NEWEST: Final = 500
_NOTED: Final = {MemoryAdded.type, MemoryEdited.type}


async def promote_newest(worked: WorkedNamespace) -> None:
    """Promote the memories that the newest events note, if the index of jobs lacks more than these.

    So the first worker of a long log does not let them wait for it. Two workers may do this at once, because a
    promotion is decided on the session as it is; what fails here is done as a job later.
    """
    last, builds = await worked.handle.indexes.builds.checkpoints()
    live = live_build(worked.jobs, builds, last=last)
    if last - (live.position if live else 0) <= NEWEST:
        return
    page = await read_page(worked.store, worked.name, after=last - NEWEST, limit=NEWEST)
    for stream, events in page.sessions.items():
        if _NOTED.isdisjoint(event.type for event in events):
            continue
        try:
            state, backlog = await worked.read(stream)
            if any(job.kind == "promote" for job in due_jobs(state, backlog, WorkPlan())):
                await promote(worked, stream)
        except LedgerError as fault:
            log.warning("memories of a session were not promoted at once: %s", fault.code)
