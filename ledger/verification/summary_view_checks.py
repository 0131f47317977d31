"""Replay the summary views of a namespace, and compare with what is stored of them: snapshots, and their job."""

from collections.abc import Sequence

from ledger.errors import LedgerError
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.snapshots import VIEW_STATES
from ledger.history.state_loading import States
from ledger.indexes.jobs.due import WorkPlan, due_runs
from ledger.ports import Store, StreamHead
from ledger.ports.job_queue import JOBS, SessionJobs
from ledger.verification.live_builds import LiveBuild
from ledger.verification.session_checks import WrongRows
from projections.records.summary_views import VIEWS


async def views_differences(
    store: Store, namespace: str, head: StreamHead, builds: Sequence[LiveBuild]
) -> list[WrongRows]:
    """Return where a snapshot of the views, or their job in *builds*, is not what a replay gives."""
    stream = Stream.of(namespace, head.session_id, head.user_id)
    newest = await store.snapshots.load(stream, VIEWS.name, VIEWS.version)
    events = await store.events.read_stream(stream, until=head.version)
    found: list[WrongRows] = []
    try:
        replay = VIEWS.fold(map(decode, events))
        if newest is not None and newest.version <= head.version:
            then = VIEWS.fold(map(decode, events[: newest.version]))
            if await States(store, VIEW_STATES, capacity=1).at(stream, version=newest.version) != then:
                found.append(WrongRows(head, None, newest.version))
    except LedgerError:  # of a newer release
        return found
    jobs, last = [SessionJobs(stream, due_runs(replay, WorkPlan()))], events[-1].position if events else 0
    folded = [build for build in builds if build.projection == JOBS and build.position >= last]
    return found + [
        WrongRows(head, build, head.version)
        for build in folded
        if await store.derived.wrong_jobs(stream.namespace_id, build.key, jobs)
    ]
