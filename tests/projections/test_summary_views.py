"""The fold of summary views: which runs and results there are. Source: http W-36 … W-38, W-76."""

from datetime import timedelta
from uuid import UUID

from ledger.events import (
    Event,
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
from ledger.indexes.jobs.due import NextRun, next_run
from projections.records.summary_views import RUNS_LAST, VIEW_DELETED, VIEWS, SummaryViews, group_key

WEEK_US = RUNS_LAST // timedelta(microseconds=1)


def folded(*events: Event, at: tuple[int, ...] | None = None) -> SummaryViews:
    times = at or tuple(range(1, len(events) + 1))
    return VIEWS.fold(
        RecordedEvent(version, version, UUID(int=version), time, time, "", event)
        for version, (event, time) in enumerate(zip(events, times, strict=True), 1)
    )


def created(view: str = "v", **definition: object) -> SummaryViewCreated:
    return SummaryViewCreated(write_id="w", view_id=view, definition=SummaryViewDefinition(**definition))


def about(kind: type, task: str = "t", view: str = "v", **more: object) -> Event:
    return kind(write_id="w", view_id=view, task_id=task, **more)


REQUESTED, STARTED = about(SummaryViewRunRequested), about(SummaryViewRunStarted)
COMPLETED, FAILED = about(SummaryViewRunCompleted), about(SummaryViewRunFailed, error="timeout")


def test_a_run_goes_from_pending_over_running_to_its_end_and_no_further() -> None:
    statuses = []
    events = [created(), REQUESTED, STARTED, FAILED, COMPLETED, STARTED, REQUESTED]
    for number in range(2, 7):
        run = folded(*events[:number]).runs["t"]
        statuses.append(run.status)
    assert statuses == ["pending", "running", "failed", "failed", "failed"]
    assert (run.requested_us, run.started_us, run.ended_us, run.error) == (2, 3, 4, "timeout")


def test_a_run_never_ends_before_it_started_also_if_the_clock_went_back() -> None:
    run = folded(created(), REQUESTED, STARTED, COMPLETED, at=(10, 10, 4, 2)).runs["t"]
    assert (run.requested_us, run.started_us, run.ended_us) == (10, 10, 10)


def test_a_deleted_view_has_no_results_and_its_runs_fail() -> None:
    result = SummaryViewPartitionSummarized(write_id="w", view_id="v", group={}, summary="s", memory_count=1)
    state = folded(created(), result, REQUESTED, SummaryViewDeleted(write_id="w", view_id="v"), result)
    assert state.views == {}
    assert (state.runs["t"].status, state.runs["t"].error) == ("failed", VIEW_DELETED)
    assert next_run(state, 1.0) is None


def test_the_newest_result_of_a_group_counts_whatever_the_order_of_its_fields() -> None:
    first, other = ({"user_id": "mia", "session_id": "s"}, {"session_id": "s", "user_id": "mia"})
    results = [
        SummaryViewPartitionSummarized(write_id="w", view_id="v", group=group, memory_count=count)
        for count, group in enumerate((first, other, {"user_id": "ann", "session_id": "s"}), 1)
    ]
    partitions = folded(created(), *results).views["v"].partitions
    assert {key: (each.version, each.memory_count) for key, each in partitions.items()} == {
        group_key(first): (3, 2),
        group_key({"user_id": "ann", "session_id": "s"}): (4, 3),
    }


def test_a_run_is_forgotten_a_week_after_its_end_but_never_while_it_is_open() -> None:
    later = about(SummaryViewRunRequested, "later")
    history = (created(), REQUESTED, STARTED, COMPLETED, later)
    assert list(folded(*history, at=(1, 2, 3, 4, WEEK_US + 4)).runs) == ["t", "later"]
    assert list(folded(*history, at=(1, 2, 3, 4, WEEK_US + 5)).runs) == ["later"]
    assert list(folded(created(), REQUESTED, later, at=(1, 2, 9 * WEEK_US)).runs) == ["t", "later"]
    ended = folded(created(), REQUESTED, COMPLETED).runs["t"]
    assert ended.is_known(to_datetime(WEEK_US + 3))
    assert not ended.is_known(to_datetime(WEEK_US + 4))


def test_requested_runs_come_first_then_continuous_views_in_turn() -> None:
    events = [created("a", continuous=True), created("b", continuous=True), created("c")]
    assert next_run(folded(*events), 0.001) == NextRun("a", None, 1_001, "refresh a after 1")
    ran = [*events, about(SummaryViewRunRequested, "r", "a"), about(SummaryViewRunCompleted, "r", "a")]
    assert next_run(folded(*ran), 0.001) == NextRun("b", None, 1_002, "refresh b after 2")
    asked = [*ran, about(SummaryViewRunRequested, "x", "c"), about(SummaryViewRunRequested, "y", "b")]
    assert next_run(folded(*asked), 0.001) == NextRun("c", "x", 6, "run x")
    assert next_run(folded(created("c")), 0.001) is None


def test_a_snapshot_continues_like_the_whole_history() -> None:
    """Style §4: split fold = whole fold, through JSON."""
    from ledger.history.snapshots import VIEW_STATES  # noqa: PLC0415 - beside the fold, not under it

    result = SummaryViewPartitionSummarized(write_id="w", view_id="v", group={"user_id": "mia"}, memory_count=1)
    events = [created(filters={"topics": ["a"]}), REQUESTED, STARTED, result, COMPLETED, created("z")]
    whole = folded(*events)
    for cut in range(len(events)):
        _, hydrate = VIEW_STATES.load(VIEW_STATES.dump(folded(*events[:cut])))
        rest = [
            RecordedEvent(version, version, UUID(int=version), version, version, "", event)
            for version, event in enumerate(events[cut:], cut + 1)
        ]
        assert VIEWS.fold(rest, hydrate([])) == whole
