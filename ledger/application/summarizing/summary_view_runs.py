"""Runs of summary views: requested by a client, or due because a view is continuous; a worker does them.

Source: http W-38.
"""

from datetime import timedelta
from typing import Final

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.summarizing.summary_view_use import (
    get_views,
    request_hash_of,
    store_result,
    summarized,
    write_views,
)
from ledger.errors import InvalidInput
from ledger.events import (
    SummaryViewEvent,
    SummaryViewRunCompleted,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
    to_datetime,
)
from ledger.indexes.jobs.due import next_run
from ledger.long_term_memory.summary_views import Members, TooManyPartitions, find_partitions
from projections.records.summary_views import Run, SummaryView, SummaryViews, group_key

MOST_OPEN_RUNS: Final = 100


async def request_run(handle: NamespaceHandle, view_id: str, task_id: str, *, force: bool = False) -> Run | None:
    """Request a run of all partitions and return it; None if there is no view. A known *task_id* changes nothing.

    With *force* partitions that have not changed are summarized again, too.

    Raises:
        InvalidInput: the id belongs to a run of another view, or too many runs wait.
    """
    write_id = handle.services.clock.ulid()

    def requested(state: SummaryViews) -> list[SummaryViewEvent]:
        known = state.runs.get(task_id)
        if known is not None and known.view_id != view_id:
            raise InvalidInput("bad_view", "task_id belongs to a run of another view; choose another one")
        if known is not None or view_id not in state.views:
            return []
        if len(state.open_runs) >= MOST_OPEN_RUNS:
            raise InvalidInput("bad_view", f"{MOST_OPEN_RUNS} runs wait for a worker; try again when one has ended")
        return [SummaryViewRunRequested(write_id=write_id, view_id=view_id, task_id=task_id, force=force)]

    state = await write_views(handle, requested)
    return state.runs.get(task_id)


async def do_next_run(handle: NamespaceHandle, *, refresh_s: float) -> None:
    """Do the run that is due first: one that was requested, or that of a continuous view.

    A partition that has not changed since its result is left out, so a run that was interrupted goes on where it was.
    A stored partition that has no records any more gets an empty result.

    Raises:
        SummarizerFailed: the model returned nothing usable; the results before it are stored.
    """
    state = await get_views(handle)
    work = next_run(state, refresh_s)
    soon = handle.services.clock.now() + timedelta(seconds=refresh_s / 2)  # another worker may have been faster
    if work is None or to_datetime(work.due_us) > soon:
        return
    task_id = work.task_id or handle.services.clock.ulid()
    write_id = handle.services.clock.ulid()
    names = {"write_id": write_id, "view_id": work.view_id, "task_id": task_id}

    def started(state: SummaryViews) -> list[SummaryViewEvent]:
        run, begun = state.runs.get(task_id), SummaryViewRunStarted(**names)
        if run is None and work.view_id in state.views:
            return [SummaryViewRunRequested(write_id=write_id, view_id=work.view_id, task_id=task_id), begun]
        return [begun] if run is not None and run.status == "pending" else []

    state = await write_views(handle, started)
    view, run = state.views.get(work.view_id), state.open_runs.get(task_id)
    if view is None or run is None:
        return
    try:
        done = await _run(handle, work.view_id, view, task_id, again_before=run.version if run.force else 0)
    except (TooManyPartitions, InvalidInput) as fault:
        await fail_run(handle, task_id, str(fault))
        return

    def completed(state: SummaryViews) -> list[SummaryViewEvent]:
        return [SummaryViewRunCompleted(**names, partitions=done)] if task_id in state.open_runs else []

    await write_views(handle, completed)


async def fail_run(handle: NamespaceHandle, task_id: str, error: str) -> None:
    """Record that a run failed, unless it has ended."""
    write_id = handle.services.clock.ulid()

    def failed(state: SummaryViews) -> list[SummaryViewEvent]:
        run = state.open_runs.get(task_id)
        if run is None:
            return []
        return [SummaryViewRunFailed(write_id=write_id, view_id=run.view_id, task_id=task_id, error=error[:500])]

    await write_views(handle, failed)


async def _run(handle: NamespaceHandle, view_id: str, view: SummaryView, task_id: str, *, again_before: int) -> int:
    """Summarize the partitions of a view that have changed, and return how many partitions have records.

    Results of versions up to *again_before* are not used.
    """
    memory, now = handle.long_term, handle.services.clock.now()
    found = await find_partitions(memory, handle.namespace, view.definition, now=now)
    gone = [
        Members(msgspec.json.decode(key, type=dict[str, str]))
        for key, partition in view.partitions.items()
        if key not in found and partition.memory_count
    ]
    for members in [*(found[key] for key in sorted(found)), *gone]:
        known = view.partitions.get(group_key(members.group))
        asked = request_hash_of(handle, view, members)
        same = known is not None and (known.memory_count, known.request_hash) == (members.count, asked)
        if same and known is not None and known.version > again_before:
            continue
        result = await summarized(handle, view_id, view, members)
        state = await store_result(handle, msgspec.structs.replace(result, task_id=task_id))
        if task_id not in state.open_runs:  # the view was deleted
            break
    return len(found)
