"""Runs of summary views. Source: http W-38."""

from typing import Final

from ledger.application.summarizing.summary_view_runs import do_next_run, fail_run
from ledger.application.summarizing.summary_view_use import get_views
from ledger.errors import SummarizerFailed
from ledger.events.ids import Stream
from ledger.indexes.jobs.due import next_run
from ledger.worker.completion import Ending
from ledger.worker.namespace_jobs import WorkedNamespace

#: A client waits for the end of a run, so it fails after as many failed attempts, long before a dead letter.
MOST_RUN_ATTEMPTS: Final = 4


async def summarize(worked: WorkedNamespace, stream: Stream) -> Ending:
    """Do the run of a summary view that is due first."""
    await do_next_run(worked.handle, refresh_s=worked.plan.refresh_s)
    return "done"


async def give_up(worked: WorkedNamespace, failure: SummarizerFailed) -> None:
    """End the run that is due first: its model returned nothing usable on any attempt."""
    run = next_run(await get_views(worked.handle), worked.plan.refresh_s)
    if run is not None and run.task_id is not None:
        await fail_run(worked.handle, run.task_id, f"{failure.reason}: {failure}")
