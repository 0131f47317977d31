"""Law: folds and strategies work on structure alone; without any content they give the same. Source: R-GEN-1.

The conditions that users write over content (R-CND-5) are left out: they need it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from ledger.errors import NotEnoughEntries
from ledger.events import (
    CompactionCompleted,
    ContentFacts,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    RecordedEvent,
    SummaryViewCreated,
    SummaryViewDefinition,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
)
from ledger.events.content import without_content
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.fast_fold import SESSION_IN_RUNS
from ledger.session.state import SessionState
from ledger.session.views import stats_of, window_of
from projections import strategies
from projections.compactions import Failures
from projections.content_facts import facts_of, reads_as_error
from projections.entries import Entry
from projections.items import ItemUnit
from projections.log.backlog import BACKLOG
from projections.log.history import HISTORY
from projections.log.lineage import LINEAGE
from projections.memory_config import config as memory_config
from projections.projection import Projection
from projections.rebuilds import Rebuild
from projections.records import records
from projections.records.records import Record
from projections.records.summary_views import VIEWS, Run
from projections.strategies.base import NO_HINTS, Hints, Trigger
from projections.summaries import Summary
from projections.tool_pairs import Pairing, group_units
from projections.values.persistent_list import PersistentList
from projections.working_memory import Memory, WorkingMemory
from tests.golden.histories import HISTORIES, read
from tests.support import histories
from tests.support.examples import seeds, seeds_to_fail
from tests.support.histories import hints
from tests.support.sessions_of_all_kinds import some_history

#: What of a state is content, by the class that has it.
CONTENT: Final[dict[type, tuple[str, ...]]] = {
    Entry: ("content", "data", "arguments", "metadata"),
    Summary: ("text",),
    Memory: ("fields",),
    Record: ("fields",),
    WorkingMemory: ("data", "set_at", "contexts"),
    Failures: ("error",),
    Rebuild: ("detail",),
    Run: ("error",),
}


def without(events: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    return [replace(event, payload=without_content(event.payload)) for event in events]


def structure_of(value: Any) -> Any:
    """Return *value* less what of it is content."""
    if isinstance(value, msgspec.Struct):
        names = next((names for cls, names in CONTENT.items() if isinstance(value, cls)), ())
        fields = [name for name in value.__struct_fields__ if name not in names]
        beside = without_content(value.fields) if isinstance(value, Memory | Record) else None
        return type(value).__name__, beside, [(name, structure_of(getattr(value, name))) for name in fields]
    if isinstance(value, dict):
        return {key: structure_of(each) for key, each in value.items()}
    if isinstance(value, tuple | list | PersistentList) or hasattr(value, "pages"):
        return [structure_of(each) for each in value]
    return value


def shown(state: SessionState, found: Hints) -> Iterable[tuple[Any, ...]]:
    """Yield what each window would show, as ids and versions, with its tokens."""
    for kind, listed in sorted(histories.WINDOWS.items()):
        for fields in listed:
            window = memory_config.load({"window": {"type": kind, **fields}, "compactions": []}).window
            now = replace(state, config=state.config.model_copy(update={"window": window}))
            for given in (NO_HINTS, found):
                built = window_of(now, given)
                items = [(item.version, getattr(item, "entry_id", None)) for item in built.items]
                yield kind, items, built.tokens, built.dropped, built.recalled, built.gaps, now.shown_tokens()


def planned(state: SessionState) -> Iterable[Any]:
    """Yield what each compaction would do next, of its own accord and asked to."""
    state = end_of_batch(state)
    own = [compaction.model_dump(mode="json") for compaction in state.config.compactions]
    others = [{"type": kind, **fields} for kind, listed in sorted(histories.COMPACTIONS.items()) for fields in listed]
    for raw in [*own, *others]:
        compaction = memory_config.load({"compactions": [raw]}).compactions[0]
        plan = strategies.COMPACTIONS[compaction.type].plan
        for trigger in (Trigger(), Trigger(False, True)):
            try:
                yield plan(compaction, state, trigger)
            except NotEnoughEntries as refused:
                yield compaction.type, str(refused)


def seen(fold: Projection[SessionState], events: Sequence[RecordedEvent], found: Hints) -> dict[str, Any]:
    state = fold.fold(events)
    entries = state.window.entries
    units: Sequence[ItemUnit] = ("interaction", "entry")
    return {
        "state": structure_of(state),
        "in runs": structure_of(SESSION_IN_RUNS.fold(events)) if fold is SESSION else None,
        "stats": replace(stats_of(state), last_failure=None),
        "units": [([each.version for each in unit.entries], unit.open) for unit in group_units(entries)],
        "open": Pairing(entries).open_calls,
        "items": [end_of_batch(state).items.numbering(unit) for unit in units],
        "windows": list(shown(state, found)),
        "plans": list(planned(state)),
        "history": structure_of(HISTORY.fold(events)),
        "lineage": structure_of(LINEAGE.fold(events)),
        "backlog": BACKLOG.fold(events),
    }


def check(seed: int, fold: Projection[SessionState] = SESSION) -> None:
    """Assert that a history gives the same without its content, at its end and at some versions before."""
    random = Random(seed)
    session = some_history(random)
    check_events(session.events, random, fold, hints(session))


def check_all(tried: Iterable[int], fold: Projection[SessionState] = SESSION) -> None:
    for seed in tried:
        check(seed, fold)


def check_events(events: Sequence[RecordedEvent], random: Random, fold: Projection[SessionState], found: Hints) -> None:
    bare = without(events)
    for until in {len(events), random.randint(1, len(events))}:
        with_it, without_it = (seen(fold, each[:until], found) for each in (events, bare))
        for name, value in with_it.items():
            assert value == without_it[name], (name, until)


def test_without_content_a_session_has_the_same_state_windows_plans_and_counts() -> None:
    with seeds(100) as tried:
        check_all(tried)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_without_content_many_sessions_have_the_same_state_windows_plans_and_counts(part: int) -> None:
    """2,000 histories, in parts that each end within the time of a test."""
    with seeds(500) as tried:
        check_all(tried)


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_without_content_a_golden_history_has_the_same_state(path: Path) -> None:
    check_events(list(read(path)), Random(1), SESSION, NO_HINTS)


def check_other_folds(events: Sequence[RecordedEvent]) -> None:
    runs, bare_runs = (VIEWS.fold(each).runs for each in (events, without(events)))
    assert {name: run.status for name, run in runs.items()} == {name: run.status for name, run in bare_runs.items()}
    assert structure_of(VIEWS.fold(events)) == structure_of(VIEWS.fold(without(events)))
    assert structure_of(records.fold(events)) == structure_of(records.fold(without(events)))


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_without_content_views_and_records_are_the_same(path: Path) -> None:
    check_other_folds(list(read(path)))


def failed_run() -> list[RecordedEvent]:
    same = {"write_id": "w", "view_id": "v"}
    payloads = (
        SummaryViewCreated(**same, definition=SummaryViewDefinition()),
        SummaryViewRunRequested(**same, task_id="t"),
        SummaryViewRunStarted(**same, task_id="t"),
        SummaryViewRunFailed(**same, task_id="t", error="timeout"),
    )
    return [RecordedEvent(at, at, UUID(int=at), at, at, "", payload) for at, payload in enumerate(payloads, 1)]


def test_without_content_a_failed_run_has_failed() -> None:
    check_other_folds(failed_run())
    assert VIEWS.fold(without(failed_run())).runs["t"].status == "failed"


def test_a_run_that_failed_only_if_its_error_is_known_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: its status as it was."""
    monkeypatch.setattr(Run, "status", property(lambda run: "failed" if run.error else "success"))
    with pytest.raises(AssertionError):
        check_other_folds(failed_run())


def facts_from_content(payload: Any, name: str) -> Any:
    """Return *payload* with one fact as folds judged it before: from the content."""

    def judged(part: Any) -> ContentFacts:
        if name not in ContentFacts.__struct_fields__:
            return part.facts
        return replace(part.facts, **{name: getattr(facts_of(part.content, part.data, part.metadata), name)})

    match payload:
        case EntryAdded():
            return replace(payload, facts=judged(payload))
        case EntriesReturned(entries=back):
            return replace(payload, entries=tuple(replace(each, facts=judged(each)) for each in back))
        case EntryEdited() if name == "reads_as_error":
            return replace(payload, reads_as_error=reads_as_error(payload.content))
        case CompactionCompleted() if name == "model_failed":
            return replace(payload, model_failed=bool(payload.error))
        case _:
            return payload


def judging_content(name: str) -> Projection[SessionState]:
    def evolve(state: SessionState, event: RecordedEvent) -> SessionState:
        return SESSION.evolve(state, replace(event, payload=facts_from_content(event.payload, name)))

    return Projection(name, 1, SESSION.initial, evolve)


@pytest.mark.parametrize("name", [*ContentFacts.__struct_fields__, "model_failed"])
def test_a_fold_that_judges_content_is_noticed(name: str) -> None:
    """Negative control: the fold as it was, for each of the facts."""
    fold = judging_content(name)
    with pytest.raises(AssertionError):
        check_all(seeds_to_fail(300), fold)


def of_content(entry: Entry) -> ContentFacts:
    return facts_of(entry.content, entry.data, entry.metadata)


def judged_outcome(entry: Entry) -> str | None:
    if entry.kind != "tool_result":
        return None
    return entry.tool_status or ("error" if of_content(entry).reads_as_error else "ok")


#: How entries were judged before: by their content.
JUDGED: Final[dict[str, Callable[[Entry], Any]]] = {
    "thinks": lambda entry: of_content(entry).thinks,
    "of_server_tool": lambda entry: of_content(entry).of_server_tool,
    "outcome": judged_outcome,
    "ends_turn": lambda entry: (
        (entry.kind == "step_result" or (entry.kind == "message" and entry.role == "assistant"))
        and not of_content(entry).turn_goes_on
    ),
}


@pytest.mark.parametrize("name", JUDGED)
def test_an_entry_that_is_judged_by_its_content_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the facts are in the state as they should be, and nobody reads them."""
    check_all(seeds_to_fail(3))
    monkeypatch.setattr(Entry, name, property(JUDGED[name]))
    with pytest.raises(AssertionError):
        check_all(seeds_to_fail(300))
