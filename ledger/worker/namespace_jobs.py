"""One namespace for a worker: its sessions, their jobs, its long-term memory."""

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from ledger.application.handle import NamespaceHandle
from ledger.errors import EmbedderFailed, VersionConflict
from ledger.events.ids import Stream
from ledger.history.state_loading import States
from ledger.indexes.jobs import JobIndex, WorkPlan
from ledger.ports import Store, Summarizer
from ledger.ports.contention import until_uncontended
from ledger.session.state import SessionState
from projections.log.backlog import Backlog

log = logging.getLogger("ledger")

T = TypeVar("T")

ACTOR: Final = "worker"
_PRUNE_EVERY: Final = timedelta(hours=1)
_KEEP_REQUESTS_DAYS: Final = 7  # trust R-6


class WorkedNamespace:
    """A handle with the worker as actor, and the jobs of the namespace."""

    def __init__(self, handle: NamespaceHandle, plan: WorkPlan, backlogs: States[Backlog]) -> None:
        self.handle = handle
        self.backlogs = backlogs
        self.plan = plan
        self.jobs = JobIndex(
            handle.services.store,
            handle.services.states,
            backlogs,
            namespace=handle.namespace,
            summary_views=handle.services.summary_views,
            reads=handle.services.reads,
            plan=plan,
        )
        self._prune_at = handle.services.clock.now()

    @property
    def name(self) -> str:
        """The name of the namespace."""
        return self.handle.namespace

    @property
    def store(self) -> Store:
        """The store of the services."""
        return self.handle.services.store

    @property
    def summarizer(self) -> Summarizer:
        """The model that writes summaries and extracts memories."""
        return self.handle.services.compactor.default_summarizer

    async def read_jobs(self, query: Callable[[int], Awaitable[T]]) -> T | None:
        """Return the result of *query* on the jobs as of the namespace's newest event; None if nothing was indexed."""
        return await self.handle.indexes.builds.read(self.jobs, query, empty=None)

    async def catch_up(self) -> None:
        """Bring session lists, search and long-term memory up to date, so that the next read need not."""
        services, indexes = self.handle.services, self.handle.indexes
        for projection in (indexes.sessions, indexes.texts):
            await indexes.builds.catch_up(projection)
        await services.record_indexes.catch_up([self.handle.namespace_id])
        now = services.clock.now()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNE_EVERY
            await self.store.events.prune_requests(self.handle.namespace_id, days=_KEEP_REQUESTS_DAYS)
        if services.embedder is not None:
            try:
                await indexes.finder.embed()
                await self.handle.long_term.embed_pending()
            except EmbedderFailed as fault:  # until then search finds texts by their words
                log.warning("embeddings are behind: %s", fault.code)

    async def read(self, stream: Stream) -> tuple[SessionState, Backlog]:
        """Return the state and the backlog of a session, both at the same version.

        Raises:
            Unavailable: the session changes faster than it can be read.
        """

        async def attempt(number: int) -> tuple[SessionState, Backlog]:
            backlog = await self.backlogs.current(stream)
            state = await self.handle.services.states.newest(stream)
            if state.version != backlog.version:
                raise VersionConflict(current=state.version, expected=backlog.version)
            return state, backlog

        busy = "the session changes faster than it can be read; try again"
        return await until_uncontended(attempt, message=busy)
