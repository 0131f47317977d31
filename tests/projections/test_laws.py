"""What holds for every projection: a fold may stop anywhere and go on, and no state changes once it was returned."""

import random
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from ledger.errors import UnknownConfig, UnknownEvent
from ledger.events import Event, OpaqueEvent, RecordedEvent, SessionOpened
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.session.evolve import SESSION
from ledger.stores.in_memory import InMemoryStore
from projections.log.history import HISTORY
from projections.log.lineage import LINEAGE
from projections.projection import Projection
from tests.support.arbitrary_events import EVENTS
from tests.support.examples import up_to

PROJECTIONS: tuple[Projection[Any], ...] = (SESSION, HISTORY, LINEAGE)
NAMES = [projection.name for projection in PROJECTIONS]
CONFIGS = (
    {"profile": "memory_manager", "max_entries": 6},
    {"profile": "memory_manager", "max_tokens": 60},
    {"profile": "rolling_interactions", "size": 2},
    {"profile": "none"},
)


async def a_history(seed: int) -> list[RecordedEvent]:
    """Return the events of a session that was written to, compressed, edited, cleared and configured at random."""
    chance = random.Random(seed)
    store = InMemoryStore()
    config = {"max_entries": 5, "recent_window": 2, "min_entries_to_compress": 2, "tokenizer": "approximate"}
    async with MemoryLedger.open(namespace="laws", store=store, config=config) as ledger:
        for number in range(60):
            await ledger.add_user_message("s", f"question {number} " * chance.randint(3, 12))
            await ledger.add_tool_call("s", "search", {"n": number}, tool_call_id=f"c{number}")
            await ledger.add_tool_result("s", "search", "found " * chance.randint(3, 30), tool_call_id=f"c{number}")
            active = await ledger.get_active_entries("s")
            match chance.randint(0, 12) if number > 2 else None:  # a compaction comes before a config without any
                case 0:
                    await ledger.clear_session("s", end=chance.random() < 0.3)
                case 1:
                    await ledger.update_config("s", chance.choice(CONFIGS))
                case 2 if active:
                    await ledger.edit_entry("s", active[-1].entry_id, "said otherwise")
                case 3 if active:
                    await ledger.remove_entry("s", active[-1].entry_id)
            if chance.random() < 0.2:
                await ledger.get_context("s", record=True)
            await ledger.settle("s")
    return [decode(event) for event in await store.events.read_stream(Stream.of("laws", "s"))]


def check_split(projection: Projection[Any], events: list[RecordedEvent]) -> None:
    """Assert that each state, kept aside, is what it was, and a place to go on from, after all others were made."""
    state = projection.initial
    stored = []
    for event in events:
        state = projection.evolve(state, event)
        stored.append((state, repr(state)))
    for version in range(1, len(events) + 1, 7):
        then, shown = stored[version - 1]
        assert repr(then) == shown
        assert projection.fold(events[:version]) == then
        assert projection.fold(events[version:], then) == state


@pytest.mark.parametrize("projection", PROJECTIONS, ids=NAMES)
async def test_a_fold_may_stop_anywhere_and_go_on(projection: Projection[Any], seed: int) -> None:
    events = await a_history(seed)
    assert {"compaction.completed", "entry.added"} <= {event.type for event in events}
    check_split(projection, events)


@pytest.mark.parametrize("projection", PROJECTIONS, ids=NAMES)
async def test_an_event_of_a_newer_release_is_never_skipped(projection: Projection[Any], seed: int) -> None:
    events = (await a_history(seed))[:3]
    unknown = OpaqueEvent("entry.sung", 1, {})
    with pytest.raises(UnknownEvent):
        projection.fold([*events, recorded(events[-1], unknown)])


def recorded(like: RecordedEvent, payload: OpaqueEvent) -> RecordedEvent:
    fields = {name: getattr(like, name) for name in like.__struct_fields__}
    return RecordedEvent(**{**fields, "version": like.version + 1, "payload": payload})


async def test_a_projection_that_keeps_a_list_and_changes_it_is_noticed(seed: int) -> None:
    def evolve(state: list[int], event: RecordedEvent) -> list[int]:
        state.append(event.version)
        return state

    with pytest.raises(AssertionError):
        check_split(Projection("shared", 1, [], evolve), await a_history(seed))


async def test_a_projection_of_the_callers_own_is_folded_up_to_a_version(ledger: MemoryLedger) -> None:
    for text in ("one", "two", "three"):
        await ledger.add_user_message("s", text)
    count = Projection("count", 1, 0, lambda state, event: state + (event.type == "entry.added"))
    assert await ledger.fold("s", count) == 3
    assert await ledger.fold("s", count, version=2) == 1


READABLE = st.sampled_from(CONFIGS)
ANY_EVENT = st.one_of(
    [
        item.flatmap(lambda event: READABLE.map(lambda config: structs.replace(event, config=config)))
        if name in {"session.opened", "config.changed", "rebuild.completed"}
        else item
        for name, item in EVENTS.items()
    ]
)


@pytest.mark.parametrize("projection", PROJECTIONS, ids=NAMES)
@settings(up_to(200), database=None, suppress_health_check=list(HealthCheck))
@given(events=st.lists(ANY_EVENT, max_size=12))
def test_a_fold_takes_events_that_make_no_sense_together(projection: Projection[Any], events: list[Event]) -> None:
    """A file proves that its events were chained, not that they fit; whoever imports one must be able to read on."""
    projection.fold(RecordedEvent(n, n, UUID(int=n), 0, 0, "", event) for n, event in enumerate(events, start=1))


def test_a_config_of_another_release_is_named_with_its_event() -> None:
    config = {"window": {"type": "telepathy"}}
    opened = SessionOpened(write_id="w", namespace="n", user_id="", session_id="s", config=config)
    with pytest.raises(UnknownConfig) as refused:
        SESSION.fold([RecordedEvent(1, 1, UUID(int=1), 0, 0, "", opened)])
    assert (refused.value.version, refused.value.field) == (1, "window.type")
