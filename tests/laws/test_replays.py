"""Laws of folds, compactions and replays, over the registry. Source: strategies §13."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import CompactionCompleted, Event, RecordedEvent, SessionCleared
from ledger.replay.what_if.config_replay import replay
from ledger.replay.what_if.recorded_answers import cache_of
from ledger.replay.what_if.replayed import Replayed
from ledger.session.commands import ChangeConfig
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from ledger.session.views import stats_of, window_of
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.memory_config import config as memory_config
from projections.strategies import COMPACTIONS
from projections.tool_pairs import group_units
from projections.values import ranges
from tests.support import histories
from tests.support.driver import Driven
from tests.support.examples import up_to
from tests.support.histories import STEPS, configs, happened, settled

EXAMPLES = up_to(25)
each_compaction = pytest.mark.parametrize("kind", sorted(COMPACTIONS))
#: When and in how many writes events came differs between a replay and what was recorded.
_TIMES = {"version": 0, "writes": 0, "created_at": None, "updated_at": None, "last_compaction_at": None}


def test_every_compaction_has_configs_here() -> None:
    for kind in COMPACTIONS:
        for fields in histories.COMPACTIONS[kind]:
            raw = {"compactions": [{"type": kind, **fields}]}
            assert memory_config.load(raw), "add configs of it to COMPACTIONS in tests/support/histories.py"


def seen(state: SessionState) -> tuple[Any, ...]:
    """Return what makes two states equal (R-WIF-9): no ids of compactions, no versions of theirs, no times."""
    state = end_of_batch(state)
    live = sorted(
        (record.first_version, record.key, record.covered, record.text, record.tokens)
        for record in state.summaries.live
    )
    shown = [getattr(item, "entry_id", None) or (item.key, item.covered, item.text) for item in window_of(state).items]
    active = [(entry.version, entry.content, entry.tokens) for entry in state.window.entries]
    return active, live, shown, msgspec.structs.replace(stats_of(state), **_TIMES)


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_planning_twice_plans_the_same_and_changes_nothing__LAW_1(kind: str, data: Any, steps: list) -> None:
    session = happened(data.draw(configs(compaction=kind)), steps, histories.mixed)
    before = repr(session.state)
    assert session.plan() == session.plan()
    assert repr(session.state) == before


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS, cut=st.floats(0, 1))
def test_a_fold_may_stop_at_any_event_and_go_on__LAW_3(kind: str, data: Any, steps: list, cut: float) -> None:
    session = happened(data.draw(configs(compaction=kind)), steps, histories.mixed)
    place = round(cut * len(session.events))
    assert SESSION.fold(session.events[place:], SESSION.fold(session.events[:place])) == session.state
    assert SESSION.fold(session.events) == session.state


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_a_settled_history_replays_to_what_was_recorded__LAW_4(kind: str, data: Any, steps: list) -> None:
    config = data.draw(configs(compaction=kind))
    session = happened(config, steps)
    if settled(session):
        check_replay(session, config)


def check_replay(session: Driven, config: dict[str, Any]) -> None:
    done = replay(session.events, memory_config.load(config), cache_of(session.events), model="scripted")
    assert seen(done.state) == seen(session.state)
    assert len(done.completed) == len(session.completed)
    check_entries(done, session)


def check_entries(done: Replayed, session: Driven) -> None:
    """Assert that a replay, which notes the entries behind summaries as it goes, has those that `HISTORY` folds."""
    past = HISTORY.fold(session.events).current()
    recorded = [each for each in past if each.status in {"active", "covered"}]
    assert [content(each) for each in done.entries.values()] == [content(each) for each in recorded]
    assert list(done.entries) == [each.version for each in recorded]
    assert done.removed == {each.version for each in past if each.status == "removed"}


def content(entry: Entry) -> tuple[Any, ...]:
    return entry.version, entry.entry_id, entry.kind, entry.role, entry.content, entry.tokens, entry.data


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS, other=configs())
def test_a_replay_is_the_same_twice_and_leaves_its_events_alone__LAW_5(
    kind: str, data: Any, steps: list, other: dict
) -> None:
    session = happened(data.draw(configs(compaction=kind)), steps, histories.mixed)
    before = repr(session.events)
    answers = cache_of(session.events)
    turned = dict(reversed(answers.items()))
    wanted = memory_config.load(other)
    first, two = (replay(session.events, wanted, cache, on_miss="estimate") for cache in (answers, turned))
    assert first == two
    assert repr(session.events) == before


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_no_compaction_takes_part_of_a_unit_or_an_open_call__LAW_9(kind: str, data: Any, steps: list) -> None:
    check_units_taken(happened(data.draw(configs(compaction=kind)), steps, histories.mixed).events)


def check_units_taken(events: list[RecordedEvent]) -> None:
    """Assert it of every compaction; an import only puts back what strategies took before it."""
    state = SESSION.initial
    for event in events:
        if is_taking(event.payload):
            for unit in group_units(end_of_batch(state).window.entries):
                taken = {ranges.contains(event.payload.covered, entry.version) for entry in unit.entries}
                assert len(taken) == 1
                assert taken == {False} or not unit.open
        state = SESSION.evolve(state, event)


def is_taking(payload: Event) -> bool:
    return isinstance(payload, CompactionCompleted) and payload.effect != "overlay" and payload.strategy != "imported"


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_every_entry_is_in_one_state_and_the_counts_add_up__LAW_10(kind: str, data: Any, steps: list) -> None:
    session = happened(data.draw(configs(compaction=kind)), steps, histories.mixed)
    check_every_entry(session)


def check_every_entry(session: Driven) -> None:
    past = HISTORY.fold(session.events).current()
    cleared = max((event.version for event in session.events if isinstance(event.payload, SessionCleared)), default=0)
    taken = [
        event.payload
        for event in session.events
        if isinstance(event.payload, CompactionCompleted)
        and event.version > cleared
        and event.payload.effect != "overlay"
    ]
    for past_entry in past:
        times = sum(ranges.contains(payload.covered, past_entry.version) for payload in taken)
        assert times == (past_entry.status in {"covered", "erased"})
    stats, counts = stats_of(session.state), [past_entry.status for past_entry in past]
    assert stats.total_entries == len(past)
    assert stats.active_entries == counts.count("active") == len(session.state.window.entries)
    assert stats.compressed_entries == counts.count("covered") + counts.count("erased")
    assert stats.removed_entries == counts.count("removed")


@each_compaction
@EXAMPLES
@given(data=st.data(), steps=STEPS)
def test_a_replace_lowers_the_tokens_and_an_erasure_by_what_it_erased__LAW_14(
    kind: str, data: Any, steps: list
) -> None:
    check_gain(happened(data.draw(configs(compaction=kind)), steps, histories.mixed).events)


def check_gain(events: list[RecordedEvent]) -> None:
    state = SESSION.initial
    for event in events:
        before = stats_of(state).total_tokens if state.version else 0
        state = SESSION.evolve(state, event)
        match event.payload:
            case CompactionCompleted(strategy="imported"):
                pass  # an import takes what it is given
            case CompactionCompleted(effect="replace"):
                assert stats_of(state).total_tokens < before
            case CompactionCompleted(effect="erase", tokens_before=erased):
                assert stats_of(state).total_tokens == before - erased


@EXAMPLES
@given(config=configs(), other=configs(), steps=STEPS)
def test_a_new_config_alone_changes_no_entry__LAW_24(config: dict, other: dict, steps: list) -> None:
    session = happened(config, steps, histories.mixed)
    before, past = session.state, HISTORY.fold(session.events)
    session.do(ChangeConfig("change", memory_config.load(other)))
    assert session.state.config == memory_config.load(other)
    assert session.state.window == before.window
    assert stats_of(session.state).total_entries == stats_of(before).total_entries
    assert HISTORY.fold(session.events) == past
    stored = [record for record in before.summaries.live if record.block is None]
    assert [record for record in session.state.summaries.live if record.block is None] == stored


@up_to(200)
@given(raw=configs())
def test_a_config_survives_its_dump_and_camel_case__LAW_21(raw: dict) -> None:
    loaded = memory_config.load(raw)
    assert memory_config.load(memory_config.dump(loaded)) == loaded
    assert memory_config.load(camel(raw)) == loaded
    assert memory_config.load({**raw, "window": aliased(raw["window"], "memory_strategy_id")}) == loaded
    for name in ("long_term_memory_id", "name"):
        listed = [aliased(item, name) for item in raw["compactions"]]
        assert memory_config.load({**raw, "compactions": listed}) == loaded


def camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(name): camel(item) for name, item in value.items()}
    return [camel(item) for item in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def aliased(strategy: dict[str, Any], discriminator: str) -> dict[str, Any]:
    """Return *strategy* in other words of R-CFG-5."""
    named = {name: value for name, value in strategy.items() if name not in {"type", "preserve"}}
    if "preserve" in strategy:
        named["preserveMessageTypes"] = strategy["preserve"]
    kind = "rolling" if strategy["type"] == "rolling_blocks" else strategy["type"].replace("_", "-")
    return {**named, discriminator: kind}
