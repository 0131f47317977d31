"""The worker: looks for due jobs in every namespace, claims as many as it can run, and stops in order."""

import asyncio
import logging
import math
import os
import socket
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self
from uuid import UUID

from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.errors import LedgerError, Unreadable
from ledger.events.ids import namespace_id
from ledger.history.state_loading import States
from ledger.indexes.jobs import BACKLOGS, WorkPlan
from ledger.ports import NamespaceInfo
from ledger.ports.job_queue import Job, JobBacklog
from ledger.worker.attempts import Attempts
from ledger.worker.namespace_jobs import ACTOR, WorkedNamespace
from ledger.worker.promotion_jobs import promote_newest
from ledger.worker.worker_settings import WorkerSettings, load_worker_settings

log = logging.getLogger("ledger")

_MOST_NAMESPACES: Final = 64
_INDEXED_AT_ONCE: Final = 4  # more would take all connections from readers in this process
_CACHED_BACKLOGS: Final = 1_024
_HOST_CHARACTERS: Final = 100
_PATIENCE_S: Final = 30.0  # without having looked for work
_NAMESPACES_PER_QUERY: Final = 500  # the cost of row security grows with the square of their number


class Worker:
    """Works in the background while its context is open, or once with `run_once`.

    It works in *namespaces*, or in all of them if not given. Without a model it extracts no memories; those jobs wait
    for a worker that has a model. Close the services after the worker has stopped.
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
            refresh_s=60 * self._settings.summary_view_refresh_every_minutes,
            index_all=self._settings.index_all_messages_in_long_term_memory,
        )
        self._backlogs = States(services.reads.store, BACKLOGS, capacity=_CACHED_BACKLOGS)
        self._kinds = self._settings.kinds(extracts=services.compactor.default_summarizer.method == "llm")
        self._only = None if namespaces is None else tuple(dict.fromkeys(namespaces))
        self._namespaces: OrderedDict[str, WorkedNamespace] = OrderedDict()
        #: The last position of each namespace when its jobs were claimed, and when its indexes were brought up to date.
        self._claimed_at: dict[str, int] = {}
        self._indexed_at: dict[str, int] = {}
        #: Namespaces whose indexes could not be brought up to date, and when to retry, by the loop's clock.
        self._retry_at_s: dict[str, float] = {}
        #: The running tasks: the namespace of each, and whether it is a job.
        self._tasks: dict[asyncio.Task[None], tuple[WorkedNamespace, bool]] = {}
        self._indexing = asyncio.Semaphore(_INDEXED_AT_ONCE)
        self._name = f"{socket.gethostname()[:_HOST_CHARACTERS]}-{os.getpid()}"
        self._woken = asyncio.Event()
        self._stopping = False
        self._loop: asyncio.Task[None] | None = None
        self._attempts = Attempts(services.store, self._settings)
        self._turn = 0
        self._looked_at_s = -math.inf

    async def __aenter__(self) -> Self:
        """Start to work."""
        self._loop = asyncio.create_task(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Claim no more jobs, give running ones the grace period to end, and give back the rest."""
        await self.stop()

    @property
    def services(self) -> Services:
        """The services it works with."""
        return self._services

    @property
    def extracts(self) -> bool:
        """Whether it extracts memories from messages, which needs a model."""
        return "extract" in self._kinds

    async def jobs(self, namespace: str, *, dead: bool = False, limit: int = 100) -> list[Job]:
        """Return the jobs of a namespace, the longest due first; with *dead* only the dead letters."""

        async def page(build: int) -> list[Job]:
            return await self._services.store.jobs.page(namespace_id(namespace), build, dead=dead, limit=limit)

        return await self._worked(namespace).read_jobs(page) or []

    async def backlog(self) -> list[JobBacklog]:
        """Return the backlog of all namespaces together, for each kind that this worker does.

        Jobs of other kinds wait for a worker of other settings, such as one with a model.
        """
        total = {kind: JobBacklog(kind, 0, 0, 0) for kind in self._kinds}
        namespaces = await self._namespace_ids()
        for start in range(0, len(namespaces), _NAMESPACES_PER_QUERY):
            chunk = namespaces[start : start + _NAMESPACES_PER_QUERY]
            for each in await self._services.store.jobs.backlog(chunk, kinds=self._kinds):
                known = total[each.kind]
                oldest_s = max(known.oldest_s, each.oldest_s)
                total[each.kind] = JobBacklog(each.kind, known.due + each.due, oldest_s, known.dead + each.dead)
        return list(total.values())

    @property
    def ended(self) -> Mapping[tuple[str, str], int]:
        """How many attempts ended, by kind and outcome: ``ok`` or the code of an error."""
        return self._attempts.ended

    @property
    def looks_for_work(self) -> bool:
        """Whether it has lately looked for work and reached the database."""
        patience_s = max(_PATIENCE_S, 3 * self._settings.poll_s)
        return asyncio.get_running_loop().time() - self._looked_at_s < patience_s

    async def revive(self, namespace: str) -> int:
        """Make the dead letters of a namespace due again, and return how many there were."""

        async def revive(build: int) -> int:
            return await self._services.store.jobs.revive(namespace_id(namespace), build)

        return await self._worked(namespace).read_jobs(revive) or 0

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    async def run_once(self) -> int:
        """Do all jobs that are due, and return how many attempts ended well."""
        before = self._attempts.succeeded
        while await self._round() or self._tasks:
            if self._tasks:
                await asyncio.wait(self._tasks)
        return self._attempts.succeeded - before

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
        """Start due jobs, as many as there is room for, and return their number."""
        started = 0
        infos = await self._to_check()
        await self._list_together([namespace_id(info.namespace) for info in infos])
        for info in infos:
            try:
                started += await self._begin(self._worked(info.namespace), info.last_position)
            except LedgerError as fault:  # the next round tries again
                log.warning("looking for work in a namespace failed: %s", fault.code)
            except Exception:  # the other namespaces must still get their turn
                log.exception("looking for work failed")
        self._drop_idle()
        return started

    async def _list_together(self, namespaces: Sequence[UUID]) -> None:
        """Bring what is listed of several namespaces up to date in a few statements; each by itself takes many."""
        if len(namespaces) > 1:
            try:
                await self._services.session_indexes.builds.catch_up(namespaces)
                await self._services.record_indexes.catch_up(namespaces)
            except LedgerError as fault:  # each is tried by itself
                log.warning("the indexes of several namespaces are behind: %s", fault.code)

    async def _to_check(self) -> list[NamespaceInfo]:
        """Return the namespaces with new events since they were checked, or with a due job.

        The order changes each time, so that no namespace is always last. Two queries cover many namespaces.
        """
        store = self._services.store
        infos: dict[UUID, NamespaceInfo] = {}
        due: set[UUID] = set()
        try:
            namespaces = await self._namespace_ids()
            for start in range(0, len(namespaces), _NAMESPACES_PER_QUERY):
                chunk = namespaces[start : start + _NAMESPACES_PER_QUERY]
                infos.update(await store.events.namespaces(chunk))
                due |= await store.jobs.namespaces_due(chunk, kinds=self._kinds)
        except LedgerError as fault:
            log.warning("namespaces could not be listed: %s", fault.code)
            return []
        self._looked_at_s = asyncio.get_running_loop().time()
        wanted = [info for namespace_id, info in infos.items() if namespace_id in due or not self._is_done(info)]
        wanted.sort(key=lambda info: info.namespace)
        first = self._turn % len(wanted) if wanted else 0
        self._turn += 1
        return [*wanted[first:], *wanted[:first]]

    async def _namespace_ids(self) -> list[UUID]:
        if self._only is None:
            return await self._services.store.events.namespace_ids()
        return [namespace_id(name) for name in self._only]

    def _is_done(self, info: NamespaceInfo) -> bool:
        return self._claimed_at.get(info.namespace, 0) == self._indexed_at.get(info.namespace, 0) == info.last_position

    async def _begin(self, worked: WorkedNamespace, position: int) -> int:
        if worked.name not in self._claimed_at and "promote" in self._kinds:
            await promote_newest(worked)
        now_s = asyncio.get_running_loop().time()
        if self._indexed_at.get(worked.name) != position and now_s >= self._retry_at_s.get(worked.name, now_s):
            self._retry_at_s.pop(worked.name, None)
            self._start_catching_up(worked, position)
        room = self._settings.concurrency - sum(is_job for _, is_job in self._tasks.values())
        if room <= 0 or self._stopping:
            return 0
        by = f"{self._name}-{self._services.clock.ulid()}"

        async def claim(build: int) -> list[Job]:
            return await self._services.store.jobs.claim(
                worked.handle.namespace_id, build, by=by, kinds=self._kinds, lease_s=self._settings.lease_s, limit=room
            )

        jobs = await worked.read_jobs(claim) or []
        self._claimed_at[worked.name] = position
        for job in jobs:
            self._start(worked, self._attempts.run(worked, job), is_job=True)
        return len(jobs)

    def _start_catching_up(self, worked: WorkedNamespace, position: int) -> None:
        """Bring the indexes of readers up to date, at the same time as the jobs run."""

        async def catch_up() -> None:
            try:
                async with self._indexing:
                    await worked.catch_up()
            except LedgerError as fault:
                log.warning("the indexes of a namespace are behind: %s", fault.code)
                if not isinstance(fault, Unreadable):  # that cannot change before the next write
                    self._indexed_at.pop(worked.name, None)
                    self._retry_at_s[worked.name] = asyncio.get_running_loop().time() + self._settings.poll_s

        if (worked, False) not in self._tasks.values():
            self._indexed_at[worked.name] = position
            self._start(worked, catch_up(), is_job=False)

    def _start(self, worked: WorkedNamespace, work: Coroutine[None, None, None], *, is_job: bool) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = (worked, is_job)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        _, is_job = self._tasks.pop(task)
        if is_job:  # there is room for another; indexes wait, so that they follow a busy writer in few steps
            self.wake()
        if not task.cancelled() and task.exception() is not None:
            log.error("background work failed", exc_info=task.exception())

    def _worked(self, namespace: str) -> WorkedNamespace:
        worked = self._namespaces.get(namespace)
        if worked is None:
            handle = NamespaceHandle(self._services, namespace, ACTOR)
            worked = self._namespaces[namespace] = WorkedNamespace(handle, self._plan, self._backlogs)
        self._namespaces.move_to_end(namespace)
        return worked

    def _drop_idle(self) -> None:
        """Drop the namespaces that were used longest ago and have no running task."""
        busy = {worked.name for worked, _ in self._tasks.values()}
        idle = [name for name in self._namespaces if name not in busy]
        for name in idle[: max(0, len(self._namespaces) - _MOST_NAMESPACES)]:
            del self._namespaces[name]
