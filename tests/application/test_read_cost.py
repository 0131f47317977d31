"""A read costs what it returns: the same number of events with 2,000 entries as with 100. Source: style §4."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import pytest

from ledger.application.reading.session_reads import existing_state
from ledger.events.ids import Stream
from ledger.history import snapshots
from ledger.history.snapshots import SESSIONS
from ledger.history.state_loading import States
from ledger.memory import MemoryLedger
from ledger.server.compat.compat_answers import view_of
from ledger.server.compat.compat_limits import ContextLimit
from ledger.stores.in_memory import InMemoryStore
from projections.entries import Entry
from projections.entry_page import SMALL, YOUNG
from projections.paged_entries import PagedEntries
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

Read = Callable[[MemoryLedger], Awaitable[object]]

#: A limit of each compaction that no session here reaches.
LIMITS: Final[dict[str, dict[str, Any]]] = {
    "token_threshold": {"max_entries": 100_000, "max_tokens": 10_000_000},
    "summarization": {"model": "small", "max_tokens": 10_000_000},
    "summarizer": {
        "interaction_threshold_qty": 100_000,
        "interaction_threshold_tokens": 10_000_000,
        "on_tools_error_threshold": ["search"],
        "input_tokens_threshold": 10_000_000,
    },
    "progressive": {"context_window": 100_000_000},
}

TAIL: Final = 10
CONFIG: Final = {"max_entries": 5_000, "recent_window": 2, "min_entries_to_compress": 2, "tokenizer": "approximate"}


async def at_the_end(ledger: MemoryLedger, read: Callable[[int], Awaitable[object]]) -> object:
    """Read what depends on the newest version."""
    newest, _ = await ledger._handle.services.store.events.head(Stream.of("default", "s"))
    return await read(newest)


#: What is read of a session that was compacted once, and whose last entries are its window.
READS: Final[dict[str, Read]] = {
    "the state": lambda ledger: ledger.get_state("s"),
    "the context": lambda ledger: ledger.get_context("s"),
    "an active entry": lambda ledger: ledger.get_entry("s", "tail-3"),
    "a covered entry": lambda ledger: ledger.get_entry("s", "e-7"),
    "what an active entry reached": lambda ledger: ledger.derived("s", "tail-3"),
    "what a covered entry reached": lambda ledger: ledger.derived("s", "e-7"),
    "what was shown last": lambda ledger: ledger.seen("s"),
    "events of a rare type": lambda ledger: ledger.get_events("s", type="compaction.completed"),
    "some events of a type": lambda ledger: ledger.get_events("s", type="entry.added", after_version=5, limit=3),
    "a page of entries": lambda ledger: ledger.list_entries("s", from_version=7, limit=3),
    "the fate of a covered entry": lambda ledger: at_the_end(
        ledger, lambda at: ledger.get_entry("s", "e-7", version=at)
    ),
    "the window item by item": lambda ledger: ledger.get_window("s"),
    "the last part of the timeline": lambda ledger: at_the_end(ledger, lambda at: ledger.timeline("s", after=at - 3)),
    "the last model calls": lambda ledger: at_the_end(ledger, lambda at: ledger.model_calls("s", after=at - 3)),
    "the summaries": lambda ledger: ledger.list_summaries("s"),
    "a page of the log": lambda ledger: ledger.get_log("s", after_version=5, limit=3),
    "a page of a type": lambda ledger: ledger.get_log("s", type="context.rendered", limit=3),
}


async def cost(entries: int, read: Read) -> int:
    """Return how many events *read* reads of a session with so many covered *entries*, in a process that is new.

    Those that come with a snapshot, in the same round trip, are not counted.
    """
    store = CountingStore(InMemoryStore())
    writer = ledger_over(store, config=CONFIG)
    for first in range(0, entries, 500):
        last = min(entries, first + 500)
        drafts = [
            {"role": ("user", "assistant")[number % 2], "content": f"entry {number}", "entry_id": f"e-{number}"}
            for number in range(first, last)
        ]
        await writer.add_entries("s", drafts)
    await writer.compress("s")
    stream = Stream.of("default", "s")
    states = writer._handle.services.states
    await states.save_snapshot(stream, await states.current(stream), (await store.events.head(stream))[1])
    for number in range(TAIL):
        await writer.add_user_message("s", f"tail {number}", entry_id=f"tail-{number}")
    await writer.get_context("s", record=True)
    await writer.settle()
    reader = ledger_over(store)
    store.reset()
    await read(reader)
    return store.events_read - SMALL * store.calls.count("load_with_events")


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", READS)
async def test_a_read_of_a_long_session_costs_no_more_than_of_a_short_one(name: str) -> None:
    short, long = await cost(100, READS[name]), await cost(2_000, READS[name])
    assert 0 < long == short <= 30


async def test_a_read_of_everything_is_counted() -> None:
    """Negative control."""
    for read in (lambda ledger: ledger.get_history("s"), lambda ledger: ledger.get_events("s")):
        assert await cost(2_000, read) > 2_000
        assert 100 < await cost(100, read) < 200


async def newest_messages(ledger: MemoryLedger, *, recent: int | None = None, tokens: int | None = None) -> None:
    """Read the messages of an answer of the working-memory API."""
    state, states = await existing_state(ledger._handle, "s"), ledger._handle.services.states
    limit = ContextLimit(tokens)
    view = await states.view(Stream.of("default", "s"), state, lambda: view_of(state, limit, recent=recent))
    assert view.served is not None
    assert 5 <= len(view.entries) <= 40


async def opening(ledger: MemoryLedger) -> None:
    state, states = await existing_state(ledger._handle, "s"), ledger._handle.services.states
    assert await states.view(Stream.of("default", "s"), state, lambda: state.window.opening) is not None


#: What costs the same whatever the window holds, with a config under which it ends early.
BOUNDED: Final[dict[str, tuple[dict[str, Any], Read]]] = {
    "the first entry added": ({"window": {"type": "full"}}, lambda ledger: ledger.add_user_message("s", "next")),
    "an entry added under limits": (
        {"compactions": [{"type": kind, **limits} for kind, limits in LIMITS.items()]},
        lambda ledger: ledger.add_user_message("s", "next"),
    ),
    "the last items": ({"window": {"type": "rolling", "size": 21}}, lambda ledger: ledger.get_context("s")),
    "the items before a version": (
        {"window": {"type": "rolling", "size": 21}},
        lambda ledger: ledger.get_context("s", version=1_190),
    ),
    "as much as fits": (
        {"window": {"type": "max_tokens", "memory_max_tokens": 200}},
        lambda ledger: ledger.get_context("s"),
    ),
    "the newest messages": ({}, lambda ledger: newest_messages(ledger, recent=20)),
    "the messages that fit": ({}, lambda ledger: newest_messages(ledger, tokens=100)),
    "the config": ({}, lambda ledger: existing_state(ledger._handle, "s")),
    "the data": ({}, lambda ledger: ledger.get_data("s")),
    "a fork": ({}, lambda ledger: ledger.fork("s", "f")),
    "an entry": ({}, lambda ledger: ledger.get_entry("s", "e-7")),
    "what an entry reached": ({}, lambda ledger: ledger.derived("s", "e-7")),
    "what would be shown": ({"window": {"type": "rolling", "size": 21}}, lambda ledger: ledger.seen("s")),
    "the statistics": ({}, lambda ledger: ledger.get_stats("s")),
    "the metrics": ({}, lambda ledger: ledger.get_metrics("s")),
    "the row of the session, listed before": ({}, lambda ledger: ledger.list_sessions()),
}


async def bounded_cost(entries: int, config: dict[str, Any], read: Read) -> int:
    """Return how many events *read* reads of a session with so many active entries, in a process that is new."""
    store = CountingStore(InMemoryStore())
    config = {"tokenizer": "approximate", "window": {"type": "full"}, "compactions": [], **config}
    writer = ledger_over(store, config=config)
    for first in range(0, entries, 200):
        drafts = [
            {"role": ("user", "assistant")[at % 2], "content": f"entry {at}", "entry_id": f"e-{at}"}
            for at in range(first, first + 200)
        ]
        await writer.add_entries("s", drafts)
        await writer._handle.services.commands.settle()
    await writer.list_sessions()  # the first listing of all reads the log once
    await writer.add_user_message("s", "newest")
    reader = ledger_over(store, config=config)
    store.reset()
    await read(reader)
    await reader._handle.services.commands.settle()
    return store.events_read


async def first_window(role: str, read: Read) -> list[str]:
    """Return the store's calls for the first window of a new process, which shows the newest 21 entries of 1,150."""
    store = CountingStore(InMemoryStore())
    config = {
        "tokenizer": "approximate",
        "window": {"type": "rolling", "size": 21, "unit": "entry"},
        "compactions": [],
    }
    writer = ledger_over(store, config=config)
    await writer.add_user_message("s", "look it up")
    for batch in [50] * 20 + [1] * 150:  # the last entries one by one, as events that no snapshot has
        await writer.add_entries("s", [{"role": role, "content": "and then?"}] * batch)
        await writer._handle.services.commands.settle()
    reader = ledger_over(store, config=config)
    store.reset()
    await read(reader)
    return store.calls


@pytest.mark.parametrize(("role", "looks"), [("user", 0), ("assistant", 2)])
async def test_the_first_window_of_a_new_process_takes_one_round_trip(role: str, looks: int) -> None:
    """Also within a turn of 1,150 entries: only a budget asks where it began.

    Within as many of the assistant the beginning of an answer is looked for, at most 100 entries back (R-001-4).
    """
    calls = await first_window(role, lambda ledger: ledger.get_context_for_llm("s"))
    assert calls == ["load_with_events"] + ["read_versions"] * looks


async def test_a_budget_takes_no_round_trip_more_than_its_window() -> None:
    assert await first_window("user", lambda ledger: ledger.get_context("s")) == ["load_with_events"]


async def test_a_window_that_looks_further_back_than_it_shows_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr("projections.strategies.interactions._FIRST_TAKEN", 64)
    assert len(await first_window("user", lambda ledger: ledger.get_context("s"))) > 1


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", BOUNDED)
async def test_what_ends_early_costs_no_more_in_a_long_session_than_in_a_short_one(name: str) -> None:
    short, long = [await bounded_cost(entries, *BOUNDED[name]) for entries in (1_600, 6_400)]
    assert long == short < 300


async def test_the_task_that_a_prompt_names_costs_a_page() -> None:
    costs = [await bounded_cost(entries, {}, opening) for entries in (1_600, 6_400)]
    assert costs[0] == costs[1] < 300 + SMALL * YOUNG


async def test_a_read_of_every_active_entry_is_counted() -> None:
    """Negative control."""
    assert await bounded_cost(1_600, {}, lambda ledger: ledger.get_context("s")) >= 1_600


async def test_all_sessions_together_hold_little_content() -> None:
    store = InMemoryStore()
    ledger = ledger_over(store, config={"tokenizer": "approximate", "compactions": []})
    states = States(store, SESSIONS, content_b=100_000)
    streams = [Stream.of("default", f"s{number}") for number in range(5)]
    for stream in streams:
        drafts = [{"role": "user", "content": f"{number} " + "x" * 300} for number in range(500)]
        await ledger.add_entries(stream.session_id, drafts)
    for stream in streams * 2:
        state = await states.newest(stream)
        assert len(await states.view(stream, state, lambda state=state: list(state.window.entries))) == 500  # type: ignore[misc]  # mypy infers no such lambda
        assert len((await states.current(stream)).window.entries[:]) == 500
    held = [state.window.entries for stream in streams if (state := await states.known(stream))]
    assert sum(len(entry.content) for entry in present(held)) <= 100_000
    assert len(present(held)) < 300


def present(lists: Sequence[PagedEntries]) -> list[Entry]:
    return [entry for entries in lists for page in entries.pages for entry in page.entries or ()]


async def test_a_snapshot_of_a_long_session_is_small() -> None:
    store = InMemoryStore()
    rolling = {"window": {"type": "rolling"}, "compactions": [], "tokenizer": "approximate"}
    writer = ledger_over(store, config=rolling)
    for first in range(0, 10_000, 500):
        roles = random.choices(["user", "assistant", "system"], [9, 9, 0.1], k=500)
        await writer.add_entries("s", [{"role": role, "content": f"{first} text"} for role in roles])
        await writer.get_context("s", record=True)
    stream = Stream.of("default", "s")
    state = await writer._handle.services.states.newest(stream)
    assert len(snapshots.dehydrate(state)) < 15_000


class SlowStore(CountingStore):
    """A store whose answers take a moment."""

    async def intercept(self, *args: Any, **options: Any) -> Any:
        found = await super().intercept(*args, **options)
        await asyncio.sleep(random.random() / 1_000)
        return found


async def test_reads_at_once_do_not_drop_what_the_others_loaded() -> None:
    """Each would wait for the others for ever if no content fits into memory."""
    store = InMemoryStore()
    ledger = ledger_over(store, config={"tokenizer": "approximate", "compactions": []})
    await ledger.add_entries("s", [{"role": "user", "content": f"{number}"} for number in range(500)])
    states, stream = States(SlowStore(store), SESSIONS, content_b=0), Stream.of("default", "s")
    state = await states.newest(stream)

    async def in_parts() -> int:
        read = 0
        for first in range(0, 500, 50):
            read += len(state.window.entries[first : first + 50])
            await asyncio.sleep(random.random() / 1_000)
        return read

    async def others() -> None:
        while True:
            await states.view(stream, state, lambda: state.window.entries[0])
            await asyncio.sleep(0)

    busy = asyncio.create_task(others())
    async with asyncio.timeout(20):
        assert await asyncio.gather(*(states.reading(stream, state, in_parts) for _ in range(3))) == [500] * 3
    busy.cancel()
    await asyncio.gather(busy, return_exceptions=True)
    assert not present([state.window.entries])[len(state.window.entries.tail) :]


async def test_the_states_in_memory_are_bounded_by_their_size_not_by_their_number() -> None:
    """G 41: a session with long texts in its newest entries takes the place of many short ones."""
    store = InMemoryStore()
    ledger = ledger_over(store)
    streams = [Stream.of("default", f"s{number}") for number in range(40)]
    for stream in streams:
        await ledger.add_user_message(stream.session_id, "x" * 10_000)
    states = States(store, SESSIONS, states_b=200_000)
    for stream in streams:
        await states.newest(stream)
        assert states._cache._size_b == sum(cached.size_b for cached in states._cache._cached.values()) <= 200_000
    assert await states.known(streams[-1]) is not None
    assert await states.known(streams[0]) is None
    assert 10 < len(states._cache) < 20
    await ledger.add_entries("s39", [{"role": "user", "content": "x" * 100_000} for _ in range(20)])
    assert len((await states.newest(streams[-1])).window.entries) == 21
    assert list(states._cache._cached) == [streams[-1].stream_id.int], "the newest stays, whatever its size"
