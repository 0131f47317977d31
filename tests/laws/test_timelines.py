"""What a timeline says by arithmetic is what the library says, at every version of random histories.

Source: viewer U-45, U-49.
"""

import random
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.application.reading import timeline_pages
from ledger.errors import InvalidInput, SessionNotFound, Unreadable
from ledger.events import OpaqueEvent
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.session.evolve import SESSION, end_of_batch
from ledger.stores.in_memory import InMemoryStore
from projections.log.entry_fates import Timeline, TimelinePage
from projections.log.history import HISTORY
from tests.laws.test_pages import happened as anything
from tests.support import histories
from tests.support.counting_store import CountingStore
from tests.support.driver import Driven
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, live
from tests.support.timeline_reader import TimelineReader


def pages(session: Driven, cuts: list[int]) -> list[Timeline]:
    """Return the timeline of *session*, cut after the versions *cuts*."""
    newest = len(session.events)
    found = []
    for after, until in pairwise(sorted({0, newest, *(cut % (newest + 1) for cut in cuts)})):
        page = TimelinePage(after, newest)
        for event in session.events[after:until]:
            page.add(event)
        found.append(page.page)
    return found


def differences(session: Driven, reader: TimelineReader) -> list[str]:
    """Return where *reader* says something else than the folds of the library."""
    found, state, history = [], SESSION.initial, HISTORY.initial
    for event in session.events:
        state, history = SESSION.evolve(state, event), HISTORY.evolve(history, event)
        at = event.version
        if reader.active(at) != {entry.version: entry.tokens for entry in state.window.entries}:
            found.append(f"active at {at}")
        if reader.fates(at) != {past.version: past.status for past in history.entries}:
            found.append(f"fates at {at}")
    return found


@given(histories.configs(), histories.INTERRUPTED, st.lists(st.integers(0, 200), max_size=5))
def test_membership_and_fates_are_those_of_the_library(
    config: dict[str, Any], steps: list[histories.Step], cuts: list[int]
) -> None:
    session = histories.happened(config, steps, histories.mixed)
    assert differences(session, TimelineReader(pages(session, cuts))) == []


@pytest.mark.parametrize("number", range(5))
def test_also_of_histories_that_no_decision_allows(number: int, seed: int) -> None:
    session = anything(random.Random(seed + number), 80)
    assert differences(session, TimelineReader(pages(session, [7, 33]))) == []


@pytest.mark.parametrize("forget", ["left", "edited", "entries"])
def test_a_timeline_that_forgets_a_column_is_found(forget: str) -> None:
    """Negative control."""
    session = anything(random.Random(1), 80)
    (page,) = pages(session, [])
    (empty,) = (type(getattr(page, forget))(),)
    assert differences(session, TimelineReader([msgspec.structs.replace(page, **{forget: empty})]))


async def lived(config: dict[str, Any], seed: int, turns: int = 15) -> tuple[CountingStore, MemoryLedger]:
    store = CountingStore(InMemoryStore())
    ledger = ledger_over(store, config=config)
    await live(ledger, random.Random(seed), turns=turns)
    return store, ledger


@pytest.mark.parametrize("config", CONFIGS)
async def test_the_ledger_answers_the_same_in_any_pages(
    config: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ledger = await lived(CONFIGS[config], seed)
    await ledger.update_config("s", {"compactions": [{"type": "token_threshold", "max_entries": 4}]})
    await ledger.add_user_message("s", "the last")
    dice, whole = random.Random(seed), await ledger.timeline("s")
    monkeypatch.setattr(timeline_pages, "_CHUNK", 3)
    found, after = [], 0
    while after < whole.newest:
        found.append(await ledger.timeline("s", after=after, limit=dice.randint(1, 12)))
        after = found[-1].version
    for reader in (TimelineReader([whole]), TimelineReader(found)):
        for version in range(1, whole.newest + 1):
            state = await ledger.get_state("s", version=version)
            past = await ledger.get_history("s", version=version)
            assert reader.active(version) == {each.version: each.tokens for each in state.window.entries}
            assert reader.fates(version) == {each.version: each.status for each in past.entries}
            live_now = {(each.summary_id, each.version) for each in state.summaries.live}
            assert reader.live(version) == live_now, version
            assert end_of_batch(state) == state


async def test_what_came_after_an_answer_costs_only_itself(seed: int) -> None:
    store, ledger = await lived(CONFIGS["token_threshold"], seed, turns=60)
    before = await ledger.timeline("s")
    await ledger.add_user_message("s", "one more")
    await ledger.settle()
    store.reset()
    tail = await ledger.timeline("s", after=before.version)
    assert (len(tail.entries.added), tail.version) == (1, tail.newest)
    assert store.events_read <= tail.newest - before.newest + 1, "the new events, and the config in force"
    assert len(store.calls) <= 5
    nothing = await ledger.timeline("s", after=tail.version)
    assert (nothing.version, nothing.entries.added, nothing.marks) == (tail.version, [], [])


def test_a_timeline_takes_at_most_forty_bytes_an_entry() -> None:
    session = Driven({"profile": "none"})
    session.append("[" + " ".join(f"u{number % 2_000}" for number in range(3_000)) + "]")
    (page,) = pages(session, [])
    assert len(msgspec.json.encode(page)) < 40 * 3_000


async def test_a_fork_has_the_timeline_of_its_parent_up_to_where_it_began(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    for text in ("one", "two", "three"):
        await ledger.add_user_message("s", text)
    await ledger.fork("s", "f", version=3)
    await ledger.add_user_message("f", "four")
    parent, fork = await ledger.timeline("s", limit=3), await ledger.timeline("f")
    assert fork.entries.added == [*parent.entries.added, 2]
    assert [(mark.type, mark.version) for mark in fork.marks] == [("opened", 1), ("fork", 4)]
    assert TimelineReader([fork]).active(5).keys() == {2, 3, 5}
    with pytest.raises(SessionNotFound):
        await ledger.timeline("nobody")
    with pytest.raises(InvalidInput):
        await ledger.timeline("s", limit=0)
    assert (await ledger.timeline("s", after=99)).entries.added == []


@pytest.mark.parametrize("unknown", [OpaqueEvent("entry.whispered", 1, {}), {"window": {"type": "whispered"}}])
def test_what_a_newer_release_wrote_is_refused(unknown: OpaqueEvent | dict[str, Any]) -> None:
    session = Driven({"profile": "none"})
    event = session.events[0]
    payload = unknown if isinstance(unknown, OpaqueEvent) else msgspec.structs.replace(event.payload, config=unknown)
    with pytest.raises(Unreadable):
        TimelinePage(0, 1).add(msgspec.structs.replace(event, payload=payload))
