"""The worker: looks for work in every namespace, takes what it can do at once, and stops in order."""

import asyncio
import logging
import os
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import UUID

from ledger.application.services import Services
from ledger.errors import LedgerError, SummarizerFailed, Unreadable
from ledger.ids import Stream, namespace_id
from ledger.jobs import Backlogs, WorkPlan
from ledger.ports import NamespaceInfo
from ledger.ports.jobs import Job, JobKind, JobOutcome
from ledger.worker.compacting import compact
from ledger.worker.completing import Ending
from ledger.worker.extracting import extract
from ledger.worker.namespace import ACTOR, WorkedNamespace
from ledger.worker.promoting import index, promote
from ledger.worker.settings import WorkerSettings, load_worker_settings

T = TypeVar("T")
log = logging.getLogger("ledger")

_TASKS: Final[Mapping[JobKind, Callable[[WorkedNamespace, Stream], Awaitable[Ending]]]] = {
    "compact": compact,
    "extract": extract,
    "promote": promote,
    "index": index,
}
_LONGEST_WAIT_S: Final = 1_800.0
_MOST_NAMESPACES: Final = 64
_CACHED_BACKLOGS: Final = 1_024
_HOST_CHARACTERS: Final = 100
_ASKED_AT_ONCE: Final = 500  # what row security compares grows with the square


class Worker:
    """Works in the background from entering the context to leaving it; or `run_once`.

    *namespaces* are those to work in, all there are unless given. What the summarizer cannot do is left for a worker
    that can: without a model no memories are made of messages. Who opened the services closes them, after the worker
    has stopped.
    """

    def __init__(
        self,
        services: Services,
        *,
        settings: WorkerSettings | None = None,
        namespaces: Sequence[str] | None = None,
    ) -> None:
        self._services = services
        self._settings = settings or load_worker_settings()
        self._plan = WorkPlan(
            debounce_s=self._settings.extraction_debounce_seconds,
            compaction_lease_s=services.compaction_lease_s,
            index_all=self._settings.index_all_messages_in_long_term_memory,
        )
        self._backlogs = Backlogs(services.store, capacity=_CACHED_BACKLOGS)
        self._kinds = self._settings.kinds(extracts=services.compactor.default_summarizer.method == "llm")
        self._only = None if namespaces is None else tuple(dict.fromkeys(namespaces))
        self._namespaces: OrderedDict[str, WorkedNamespace] = OrderedDict()
        #: The last position of each namespace when its jobs were claimed, and when what readers look at was kept up.
        self._looked: dict[str, int] = {}
        self._kept_up: dict[str, int] = {}
        #: Namespaces that could not be kept up, and when, by the loop's clock, to try again.
        self._behind: dict[str, float] = {}
        #: What is under way: where, and whether it is a job.
        self._tasks: dict[asyncio.Task[None], tuple[WorkedNamespace, bool]] = {}
        self._name = f"{socket.gethostname()[:_HOST_CHARACTERS]}-{os.getpid()}"
        self._woken = asyncio.Event()
        self._stopping = False
        self._loop: asyncio.Task[None] | None = None
        self._done = 0
        self._turn = 0

    async def __aenter__(self) -> Self:
        """Begin to work."""
        self._loop = asyncio.create_task(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take no more work, let what is under way end within the grace, and give the rest back."""
        await self.stop()

    @property
    def extracts(self) -> bool:
        """Whether it makes memories of messages: only a model can."""
        return "extract" in self._kinds

    async def jobs(self, namespace: str, *, dead: bool = False, limit: int = 100) -> list[Job]:
        """Return what is left to do in a namespace, due longest first; only *dead* letters if asked."""
        nothing: list[Job] = []

        async def listed(build: int) -> list[Job]:
            return await self._services.store.jobs.page(namespace_id(namespace), build, dead=dead, limit=limit)

        return await self._ask(self._worked(namespace), listed, empty=nothing)

    async def revive(self, namespace: str) -> int:
        """Let the dead letters of a namespace be tried again, and return how many there were."""

        async def revived(build: int) -> int:
            return await self._services.store.jobs.revive(namespace_id(namespace), build)

        return await self._ask(self._worked(namespace), revived, empty=0)

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    async def run_once(self) -> int:
        """Do all that is due, and return how many attempts ended well."""
        self._done = 0
        while await self._round() or self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        return self._done

    async def stop(self) -> None:
        """See `__aexit__`."""
        self._stopping = True
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._settings.grace_s)
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _work(self) -> None:
        while not self._stopping:
            self._woken.clear()
            await self._round()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._settings.poll_s)

    async def _round(self) -> int:
        """Begin what is due, as far as there is room; return how much that was."""
        started = 0
        for info in await self._to_check():
            try:
                started += await self._begin(self._worked(info.namespace), info.last_position)
            except LedgerError as fault:  # of this namespace, or of all; the next round tries again
                log.warning("no work was found in a namespace: %s", fault.code)
            except Exception:  # one namespace does not keep the others from being looked after
                log.exception("looking for work failed")
        self._drop_idle()
        return started

    async def _to_check(self) -> list[NamespaceInfo]:
        """Return the namespaces where something was appended since they were looked at, or where a job is due.

        They come in another order each time, so that none is always last. Two questions for many namespaces tell.
        """
        store = self._services.store
        infos: dict[UUID, NamespaceInfo] = {}
        due: set[UUID] = set()
        try:
            namespaces = (
                await store.events.namespace_ids()
                if self._only is None
                else [namespace_id(name) for name in self._only]
            )
            for at in range(0, len(namespaces), _ASKED_AT_ONCE):
                some = namespaces[at : at + _ASKED_AT_ONCE]
                infos.update(await store.events.namespaces(some))
                due |= await store.jobs.namespaces_due(some, kinds=self._kinds)
        except LedgerError as fault:
            log.warning("namespaces could not be listed: %s", fault.code)
            return []
        wanted = [info for namespace_id, info in infos.items() if namespace_id in due or not self._is_done(info)]
        wanted.sort(key=lambda info: info.namespace)
        first = self._turn % len(wanted) if wanted else 0
        self._turn += 1
        return [*wanted[first:], *wanted[:first]]

    def _is_done(self, info: NamespaceInfo) -> bool:
        return {self._looked.get(info.namespace, 0), self._kept_up.get(info.namespace, 0)} == {info.last_position}

    async def _begin(self, worked: WorkedNamespace, position: int) -> int:
        now_s = asyncio.get_running_loop().time()
        if self._kept_up.get(worked.name) != position and now_s >= self._behind.get(worked.name, now_s):
            self._behind.pop(worked.name, None)
            self._keep_up(worked, position)
        room = self._settings.concurrency - sum(is_job for _, is_job in self._tasks.values())
        if room <= 0 or self._stopping:
            return 0
        by = f"{self._name}-{self._services.clock.ulid()}"
        nothing: list[Job] = []

        async def claimed(build: int) -> list[Job]:
            return await self._services.store.jobs.claim(
                worked.handle.namespace_id, build, by=by, kinds=self._kinds, lease_s=self._settings.lease_s, limit=room
            )

        jobs = await self._ask(worked, claimed, empty=nothing)
        self._looked[worked.name] = position
        for job in jobs:
            self._start(worked, self._attempt(worked, job), is_job=True)
        return len(jobs)

    def _keep_up(self, worked: WorkedNamespace, position: int) -> None:
        """Bring what readers look at up to date, beside the jobs."""

        async def kept_up() -> None:
            try:
                await worked.keep_up()
            except LedgerError as fault:
                log.warning("a namespace is behind: %s", fault.code)
                if not isinstance(fault, Unreadable):  # which stays so until something else is written
                    self._kept_up.pop(worked.name, None)
                    self._behind[worked.name] = asyncio.get_running_loop().time() + self._settings.poll_s

        if (worked, False) not in self._tasks.values():
            self._kept_up[worked.name] = position
            self._start(worked, kept_up(), is_job=False)

    def _start(self, worked: WorkedNamespace, work: Coroutine[None, None, None], *, is_job: bool) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = (worked, is_job)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)
        self.wake()
        if not task.cancelled() and task.exception() is not None:
            log.error("background work failed", exc_info=task.exception())

    async def _ask(self, worked: WorkedNamespace, question: Callable[[int], Awaitable[T]], *, empty: T) -> T:
        """Return what *question* finds among the jobs there are as of the namespace's newest event."""
        return await worked.handle.indexes.builds.read(worked.jobs, question, empty=empty)

    def _worked(self, namespace: str) -> WorkedNamespace:
        worked = self._namespaces.get(namespace)
        if worked is None:
            handle = self._services.handle(namespace, ACTOR)
            worked = self._namespaces[namespace] = WorkedNamespace(handle, self._plan, self._backlogs)
        self._namespaces.move_to_end(namespace)
        return worked

    def _drop_idle(self) -> None:
        """Let go of what was looked at longest ago, but of nothing that is under way."""
        busy = {worked.name for worked, _ in self._tasks.values()}
        idle = [name for name in self._namespaces if name not in busy]
        for name in idle[: max(0, len(self._namespaces) - _MOST_NAMESPACES)]:
            del self._namespaces[name]

    async def _attempt(self, worked: WorkedNamespace, job: Job) -> None:
        """Do one job, and note what became of it; its lease is renewed meanwhile."""
        stream = Stream.of(worked.name, job.session_id, job.user_id)
        renewing = asyncio.create_task(self._renew(job))
        outcome = JobOutcome(error="interrupted", counts=False)
        try:
            outcome = await self._outcome(worked, stream, job)
        finally:
            renewing.cancel()
            with suppress(LedgerError):  # the lease will be over by itself
                await asyncio.shield(self._services.store.jobs.release(job, outcome))

    async def _outcome(self, worked: WorkedNamespace, stream: Stream, job: Job) -> JobOutcome:
        try:
            ending = await _TASKS[job.kind](worked, stream)
            if ending == "late":
                return JobOutcome(counts=False)
            self._done += 1
            # if its row is there still, with the same work, nothing came of it
            await worked.handle.indexes.builds.catch_up(worked.jobs)
            return JobOutcome("undone", self._wait_s(job))
        except SummarizerFailed as fault:
            log.warning("a model gave nothing usable: %s", fault.reason)
            return JobOutcome(fault.reason, self._wait_s(job))
        except LedgerError as fault:
            log.warning("a job failed: %s", fault.code)
            return JobOutcome(fault.code, self._wait_s(job))
        except Exception:  # a fault of ours is a dead letter in the end, and takes nobody down
            log.exception("a job failed")
            return JobOutcome("bug", self._wait_s(job))

    async def _renew(self, job: Job) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_s / 3)
            try:
                if not await self._services.store.jobs.renew(job, lease_s=self._settings.lease_s):
                    return
            except LedgerError as fault:
                log.warning("a lease was not renewed: %s", fault.code)

    def _wait_s(self, job: Job) -> float:
        """Return how long to wait after this attempt failed: twice as long as after the one before."""
        return min(_LONGEST_WAIT_S, self._settings.retry_s * 2.0 ** (job.attempts - 1))
