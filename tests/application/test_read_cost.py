"""A read costs what it returns: the same number of events with 2,000 entries as with 100. Source: design §6."""

from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from ledger.ids import Stream
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

Read = Callable[[MemoryLedger], Awaitable[object]]

TAIL: Final = 10
CONFIG: Final = {"max_entries": 5_000, "recent_window": 2, "min_entries_to_compress": 2, "tokenizer": "approximate"}

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
    "a page of the log": lambda ledger: ledger.get_log("s", after_version=5, limit=3),
    "a page of a type": lambda ledger: ledger.get_log("s", type="context.rendered", limit=3),
}


async def cost(entries: int, read: Read) -> int:
    """Return how many events *read* reads of a session with so many covered *entries*, in a process that is new."""
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
    await states.save_snapshot(stream, await states.current(stream))
    for number in range(TAIL):
        await writer.add_user_message("s", f"tail {number}", entry_id=f"tail-{number}")
    await writer.get_context("s", record=True)
    await writer.settle()
    reader = ledger_over(store)
    store.reset()
    await read(reader)
    return store.events_read


@pytest.mark.parametrize("name", READS)
async def test_a_read_of_a_long_session_costs_no_more_than_of_a_short_one(name: str) -> None:
    short, long = await cost(100, READS[name]), await cost(2_000, READS[name])
    assert 0 < long == short < 30


async def test_a_read_of_everything_is_counted() -> None:
    """Negative control."""
    for read in (lambda ledger: ledger.get_history("s"), lambda ledger: ledger.get_events("s")):
        assert await cost(2_000, read) > 2_000
        assert 100 < await cost(100, read) < 200
