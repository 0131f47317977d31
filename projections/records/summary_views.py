"""The summary views of a namespace as a fold: definitions, the newest result of each partition, runs. Pure.

A state names results by the version of their event, so it does not grow with their texts. Source: http §2.4.
"""

from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ledger.errors import UnknownEvent
from ledger.events import (
    OpaqueEvent,
    RecordedEvent,
    SummaryViewCreated,
    SummaryViewDefinition,
    SummaryViewDeleted,
    SummaryViewPartitionSummarized,
    SummaryViewRunCompleted,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
    to_datetime,
)
from ledger.events.canonical import canonical_json
from projections.projection import Projection

#: The session_id of the stream of a namespace's summary views (trust R-1): no session can have this name (trust N-3).
SUMMARY_VIEWS: Final = "/summary-views"
#: How long a run that has ended is known.
RUNS_LAST: Final = timedelta(days=7)
VIEW_DELETED: Final = "the summary view was deleted"

RunStatus: TypeAlias = Literal["pending", "running", "success", "failed"]


class Partition(msgspec.Struct, frozen=True, omit_defaults=True):
    """The newest result of a partition: the version of its event, what was asked, and of how many records."""

    version: int
    request_hash: str = ""
    memory_count: int = 0


class SummaryView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A view; *run_us* is when it was created or its newest run was requested. Partitions are named by `group_key`."""

    definition: SummaryViewDefinition
    run_us: int
    partitions: dict[str, Partition] = {}


class Run(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run of a view, with its times in microseconds, requested by the event at *version*."""

    view_id: str
    version: int
    requested_us: int
    force: bool = False
    started_us: int | None = None
    ended_us: int | None = None
    failed: bool = False
    #: Why, if it failed and that is known.
    error: str | None = None

    @property
    def status(self) -> RunStatus:
        """How far it is."""
        if self.ended_us is not None:
            return "failed" if self.failed else "success"
        return "pending" if self.started_us is None else "running"

    def is_known(self, now: datetime) -> bool:
        """Tell whether it has not ended, or not long ago."""
        return self.ended_us is None or now - to_datetime(self.ended_us) <= RUNS_LAST


class SummaryViews(msgspec.Struct, frozen=True, omit_defaults=True):
    """All views of a namespace by id, and its runs by task id, both oldest first, after the event at *version*."""

    version: int = 0
    views: dict[str, SummaryView] = {}
    runs: dict[str, Run] = {}

    @property
    def open_runs(self) -> dict[str, Run]:
        """The runs that have not ended."""
        return {task_id: run for task_id, run in self.runs.items() if run.ended_us is None}


def group_key(group: dict[str, str]) -> str:
    """Return a text that is equal for two groups if and only if they are."""
    return canonical_json(group).decode()


def evolve(state: SummaryViews, event: RecordedEvent) -> SummaryViews:
    """Return the views after *event*.

    Raises:
        UnknownEvent: a newer release wrote it; a fold without it would be wrong.
    """
    return replace(_changed(state, event), version=event.version)


def _changed(state: SummaryViews, event: RecordedEvent) -> SummaryViews:
    now_us = event.recorded_us
    match event.payload:
        case SummaryViewCreated(view_id=view_id, definition=definition):
            return replace(state, views={**state.views, view_id: SummaryView(definition, now_us)})
        case SummaryViewDeleted(view_id=view_id):
            others = {item: view for item, view in state.views.items() if item != view_id}
            ended = {
                task_id: _ended(run, now_us, VIEW_DELETED)
                for task_id, run in state.open_runs.items()
                if run.view_id == view_id
            }
            return replace(state, views=others, runs={**state.runs, **ended})
        case SummaryViewRunRequested(view_id=view_id, task_id=task_id, force=force) if view_id in state.views:
            now = to_datetime(now_us)
            known = {item: run for item, run in state.runs.items() if run.is_known(now)}
            views = {**state.views, view_id: replace(state.views[view_id], run_us=now_us)}
            return replace(state, views=views, runs={**known, task_id: Run(view_id, event.version, now_us, force)})
        case SummaryViewRunStarted(task_id=task_id) if task_id in state.open_runs:
            run = state.runs[task_id]
            return _with_run(state, task_id, replace(run, started_us=max(now_us, run.requested_us)))
        case SummaryViewRunCompleted(task_id=task_id) if task_id in state.open_runs:
            return _with_run(state, task_id, _ended(state.runs[task_id], now_us, None))
        case SummaryViewRunFailed(task_id=task_id, error=error) if task_id in state.open_runs:
            return _with_run(state, task_id, _ended(state.runs[task_id], now_us, error))
        case SummaryViewPartitionSummarized(view_id=view_id) as result if view_id in state.views:
            view = state.views[view_id]
            partition = Partition(event.version, result.request_hash, result.memory_count)
            partitions = {**view.partitions, group_key(result.group): partition}
            return replace(state, views={**state.views, view_id: replace(view, partitions=partitions)})
        case OpaqueEvent(type=type_, schema_version=schema_version):
            raise UnknownEvent(type_, schema_version, version=event.version)
        case _:
            return state


def _ended(run: Run, now_us: int, error: str | None) -> Run:
    """Return *run* as it ended: never before it started, also if the clock of the server went backwards."""
    ended_us = max(now_us, run.started_us or run.requested_us)
    return replace(run, ended_us=ended_us, failed=error is not None, error=error)


def _with_run(state: SummaryViews, task_id: str, run: Run) -> SummaryViews:
    return replace(state, runs={**state.runs, task_id: run})


#: The views as a projection: snapshots have this name and version.
VIEWS: Projection[SummaryViews] = Projection("summary_views", 2, SummaryViews(), evolve)
