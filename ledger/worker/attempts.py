"""One attempt at a job: its lease is renewed while it runs, and then the job is released with its outcome."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from ledger.errors import LedgerError, SummarizerFailed
from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.ports.job_queue import Job, JobKind, JobOutcome
from ledger.worker.compaction_jobs import compact
from ledger.worker.completion import Ending
from ledger.worker.extraction_jobs import extract
from ledger.worker.namespace_jobs import WorkedNamespace
from ledger.worker.promotion_jobs import index, promote
from ledger.worker.summary_view_jobs import MOST_RUN_ATTEMPTS, give_up, summarize
from ledger.worker.worker_settings import WorkerSettings

log = logging.getLogger("ledger")

_TASKS: Final[Mapping[JobKind, Callable[[WorkedNamespace, Stream], Awaitable[Ending]]]] = {
    "compact": compact,
    "extract": extract,
    "promote": promote,
    "index": index,
    "summarize": summarize,
}
#: The names of the outcomes that are no errors.
_OUTCOMES: Final = {None: "late", "undone": "ok"}
_LONGEST_WAIT_S: Final = 1_800.0


class Attempts:
    """Runs jobs; *succeeded* counts the attempts that ended well, *ended* all of them by kind and outcome."""

    def __init__(self, store: Store, settings: WorkerSettings) -> None:
        self._jobs = store.jobs
        self._settings = settings
        self.succeeded = 0
        self.ended: Counter[tuple[str, str]] = Counter()

    async def run(self, worked: WorkedNamespace, job: Job) -> None:
        """Do *job* and store its outcome."""
        stream = Stream.of(worked.name, job.session_id, job.user_id)
        renewing = asyncio.create_task(self._renew(job))
        outcome = JobOutcome(error="interrupted", counts=False)
        try:
            outcome = await self._outcome(worked, stream, job)
        finally:
            self.ended[job.kind, _OUTCOMES.get(outcome.error, outcome.error or "")] += 1
            renewing.cancel()
            with suppress(LedgerError):  # otherwise the lease runs out by itself
                await asyncio.shield(self._jobs.release(job, outcome))

    async def _outcome(self, worked: WorkedNamespace, stream: Stream, job: Job) -> JobOutcome:
        wait_s = min(_LONGEST_WAIT_S, self._settings.retry_s * 2.0 ** (job.attempts - 1))
        try:
            if await _TASKS[job.kind](worked, stream) == "late":
                return JobOutcome(counts=False)
            self.succeeded += 1
            # a job that is still listed with the same work after this has achieved nothing
            await worked.handle.indexes.builds.catch_up(worked.jobs)
            return JobOutcome("undone", wait_s)
        except SummarizerFailed as fault:
            log.warning("a model returned nothing usable: %s", fault.reason)
            if job.kind == "summarize" and job.attempts >= MOST_RUN_ATTEMPTS:
                await give_up(worked, fault)
            return JobOutcome(fault.reason, wait_s)
        except LedgerError as fault:
            log.warning("a job failed: %s", fault.code)
            return JobOutcome(fault.code, wait_s)
        except Exception:  # a bug ends as a dead letter and does not stop the worker
            log.exception("a job failed")
            return JobOutcome("bug", wait_s)

    async def _renew(self, job: Job) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_s / 3)
            try:
                if not await self._jobs.renew(job, lease_s=self._settings.lease_s):
                    return
            except LedgerError as fault:
                log.warning("a lease was not renewed: %s", fault.code)
