"""The jobs of all sessions as a stored projection, brought up to date by a worker that looks for work."""

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Final

from ledger.errors import Unreadable
from ledger.events import StoredEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream, namespace_id
from ledger.history.batched_reads import BatchedReads
from ledger.history.fold_results import fold_digest
from ledger.history.snapshot_format import json_format
from ledger.history.state_loading import States
from ledger.indexes.jobs.due import WorkPlan, due_jobs, due_runs
from ledger.indexes.stored_projections.log_pages import read_page
from ledger.ports import Store
from ledger.ports.job_queue import JOBS, SessionJobs
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from projections.log.backlog import BACKLOG, Backlog
from projections.records.summary_views import SUMMARY_VIEWS, VIEWS, SummaryViews

log = logging.getLogger("ledger")

VERSION: Final = 2  # raise it when the meaning of a row changes: new rows are then built beside the old ones
_PAGE: Final = 500  # events whose sessions are read in one transaction


#: Snapshots of backlogs.
BACKLOGS: Final = json_format(BACKLOG)


class JobIndex:
    """The jobs of one namespace; a `stored_projections.builds.StoredProjection`."""

    name: Final = JOBS
    keeps: Final = "the jobs of background work, for workers"

    def __init__(
        self,
        store: Store,
        states: States[SessionState],
        backlogs: States[Backlog],
        *,
        namespace: str,
        summary_views: States[SummaryViews],
        reads: BatchedReads,
        plan: WorkPlan | None = None,
    ) -> None:
        self._store = store
        self._reads = reads
        self._states = states
        self._backlogs = backlogs
        self._summary_views = summary_views
        self._namespace = namespace
        self._namespace_id = namespace_id(namespace)
        self._plan = plan or WorkPlan()

    @property
    def version(self) -> int:
        """The version of the rows; it depends on whether every message becomes a record."""
        return VERSION * 10 + int(self._plan.index_all)

    @cached_property
    def code_digest(self) -> bytes:
        """The digest of the folds and of the code that makes jobs of them."""
        return fold_digest(self.name, self.version, SESSION.name, BACKLOG.name, VIEWS.name)

    async def advance(self, build: int, *, after: int, limit: int) -> int | None:
        """See `StoredProjection.advance`; jobs come from a session's newest state, so they may be ahead."""
        page = await read_page(self._store, self._namespace, after=after, limit=min(limit, _PAGE), also=SUMMARY_VIEWS)
        sessions = await self._reads.gather(self._session(stream, events) for stream, events in page.sessions.items())
        return await self._store.jobs.save(self._namespace_id, build, sessions, after=after, position=page.position)

    async def prune(self) -> int:
        """See `StoredProjection.prune`."""
        return await self._store.jobs.prune(self._namespace_id)

    async def _session(self, stream: Stream, events: Sequence[StoredEvent]) -> SessionJobs:
        try:
            if stream.session_id == SUMMARY_VIEWS:
                views = await self._summary_views.current(stream)
                await self._summary_views.save_due_snapshot(stream)
                return SessionJobs(stream, due_runs(views, self._plan))
            recorded = [decode(event) for event in events]
            if recorded[-1].version - recorded[0].version >= len(recorded):
                recorded = []  # one is missing: the log is read, and names it
            state = await self._states.advance(stream, recorded, events[-1].hash)
            backlog = await self._backlogs.advance(stream, recorded, events[-1].hash)
            await self._states.save_due_snapshot(stream)  # the writer of the session may be gone
            await self._backlogs.save_due_snapshot(stream)
            jobs = await self._states.view(stream, state, lambda: due_jobs(state, backlog, self._plan))
        except Unreadable as fault:  # a release that can read the session will find its jobs
            log.warning("the jobs of a session cannot be read: %s", fault.code)
            return SessionJobs(stream, ())
        return SessionJobs(stream, jobs)
