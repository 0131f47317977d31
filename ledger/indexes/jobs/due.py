"""Which jobs a session, or a namespace's summary views, have: a pure function of the state."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import msgspec

from ledger.events import Ranges, to_datetime
from ledger.ports.job_queue import DueJob
from ledger.session.rebuild_decisions import running
from ledger.session.state import SessionState
from ledger.session.views import plan_automatic
from projections.log.backlog import Backlog
from projections.records.summary_views import SummaryViews
from projections.values import ranges

#: The writing process starts a due compaction itself; after this time without a start, a worker does.
UNSTARTED_S: Final = 5.0


class WorkPlan(msgspec.Struct, frozen=True):
    """How long a session must be quiet, and how long a compaction may run before it counts as abandoned.

    With *index_all* every message becomes a record (http W-50). A continuous summary view is run every *refresh_s*.
    """

    debounce_s: float = 30.0
    compaction_lease_s: float = 600.0
    refresh_s: float = 3_600.0
    index_all: bool = False


def due_jobs(state: SessionState, backlog: Backlog, plan: WorkPlan) -> tuple[DueJob, ...]:
    """Return the jobs of a session, each with the time it is due.

    Only sessions of the working-memory API have memories extracted. An ended session has no jobs.
    Source: http W-45, W-48 … W-50.
    """
    return tuple(_due(state, backlog, plan)) if state.opened else ()


def _due(state: SessionState, backlog: Backlog, plan: WorkPlan) -> Iterator[DueJob]:
    compaction = _compaction(state, backlog, plan)
    if compaction is not None:
        yield compaction
    serves_clients = state.config.profile == "working_memory"
    if backlog.unextracted and serves_clients:
        quiet = to_datetime(backlog.spoken_us) + timedelta(seconds=plan.debounce_s)
        yield DueJob("extract", _named(backlog.unextracted), quiet)
    if backlog.unpromoted:
        newest = backlog.unpromoted[-1]
        yield DueJob("promote", f"{len(backlog.unpromoted)} to {newest}", to_datetime(backlog.noted_us))
    if backlog.unindexed and plan.index_all and serves_clients:
        yield DueJob("index", _named(backlog.unindexed), to_datetime(backlog.spoken_us))


class NextRun(msgspec.Struct, frozen=True):
    """The run of a summary view that is due first; it has no *task_id* before it is requested.

    *work* changes with the run, and does not depend on how often continuous views are run.
    """

    view_id: str
    task_id: str | None
    due_us: int
    work: str


def next_run(state: SummaryViews, refresh_s: float) -> NextRun | None:
    """Return the oldest run that has not ended, else the next one of a continuous view; None without either."""
    if state.open_runs:
        task_id, run = next(iter(state.open_runs.items()))
        return NextRun(run.view_id, task_id, run.requested_us, f"run {task_id}")
    continuous = [
        NextRun(view_id, None, view.run_us + round(refresh_s * 1_000_000), f"refresh {view_id} after {view.run_us}")
        for view_id, view in state.views.items()
        if view.definition.continuous
    ]
    return min(continuous, key=lambda run: run.due_us, default=None)


def due_runs(state: SummaryViews, plan: WorkPlan) -> tuple[DueJob, ...]:
    """Return the job of a namespace's summary views, if they have one. Source: http W-38."""
    run = next_run(state, plan.refresh_s)
    if run is None:
        return ()
    return (DueJob("summarize", run.work, to_datetime(run.due_us)),)


def _compaction(state: SessionState, backlog: Backlog, plan: WorkPlan) -> DueJob | None:
    """Return the compaction that a worker must do, because its process ended before it finished or started it.

    Nobody starts one in a session that was imported, recorded, restored or forked before somebody writes to it.
    """
    lease = timedelta(seconds=plan.compaction_lease_s)
    started_jobs = [
        DueJob("compact", f"request {flight.request.compaction_id}", to_datetime(flight.recorded_us) + lease)
        for flight in state.compactions.in_flight
    ]
    unstarted: list[DueJob] = []
    if (rebuild := running(state)) is not None:
        touched = to_datetime(rebuild.touched_us)
        named = f"rebuild {rebuild.rebuild_id}"
        if rebuild.paused:  # no process carries it out
            started_jobs.append(DueJob("compact", f"{named} after {rebuild.summaries}", touched))
        else:
            started_jobs.append(DueJob("compact", named, touched + lease))
    if backlog.batch and any(plan_automatic(state, strategy) is not None for strategy in state.config.compactions):
        due_at = to_datetime(state.updated_us) + timedelta(seconds=UNSTARTED_S)
        unstarted.append(DueJob("compact", f"plan {state.version}", due_at))
    return min((*started_jobs, *unstarted), key=lambda job: job.due_at, default=None)


def _named(wanted: Ranges) -> str:
    """Return a name for these versions that differs from those of the other job rows of the session."""
    return f"{ranges.size(wanted)} of {wanted[0][0]} to {wanted[-1][1]}"
