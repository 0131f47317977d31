"""What may fail in the middle: how it is done, and how the log tells whether it was. Source: trust §10, F-10."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from ledger.errors import NotEnoughEntries
from ledger.formats.importers import Conversation, documents, read
from ledger.memory import MemoryLedger

SMALL: Final = {"profile": "memory_manager", "maxEntries": 50, "recentWindow": 1, "minEntriesToCompress": 2}
WORDS: Final = "many words " * 20
BATCH: Final = [f"{place} {WORDS}" for place in range(6)]


class Operation(NamedTuple):
    """Something a client does; *times* tells from the log how often it was done, if nothing is half-written."""

    prepare: Callable[[MemoryLedger], Awaitable[object]]
    execute: Callable[[MemoryLedger], Awaitable[object]]
    times: Callable[[MemoryLedger], Awaitable[int]]


def whole(found: Iterable[object], wanted: list[object]) -> int:
    """Return how often *found* holds all that was *wanted*, in order.

    Raises:
        AssertionError: it holds a part of it.
    """
    found = list(found)
    times = len(found) // len(wanted) if wanted else 0
    assert found == wanted * times, f"half-written: {len(found)} of {len(wanted)}"
    return times


async def events_of(ledger: MemoryLedger, type: str, session: str = "s") -> int:
    return len(await ledger.get_events(session, type=type))


async def nothing(ledger: MemoryLedger) -> None:
    """Open nothing."""


async def talk(ledger: MemoryLedger) -> None:
    await ledger.add_entries("s", [{"role": "user", "content": text} for text in BATCH])


async def add_one(ledger: MemoryLedger) -> None:
    await ledger.add_user_message("s", "one more", idempotency_key="key")


async def times_added(ledger: MemoryLedger) -> int:
    return whole([entry.content for entry in (await ledger.get_active_entries("s"))[len(BATCH) :]], ["one more"])


async def add_batch(ledger: MemoryLedger) -> None:
    entries = [{"role": "user", "content": text} for text in BATCH]
    await ledger.add_entries("s", entries, idempotency_key="key")


async def times_begun(ledger: MemoryLedger) -> int:
    """Return how often the batch was added to a session that begins with it."""
    times = whole([entry.content for entry in await ledger.get_active_entries("s")], list(BATCH))
    assert await events_of(ledger, "session.opened") == min(times, 1), "a session was opened for nothing"
    return times


async def compress(ledger: MemoryLedger) -> None:
    """Compact; if it was done before, too little is left for it."""
    try:
        await ledger.compress("s")
    except NotEnoughEntries:
        assert await times_compressed(ledger) == 1


async def times_compressed(ledger: MemoryLedger) -> int:
    """Return how often entries left the window; without a summary none may."""
    summaries = await ledger.get_summaries("s")
    active = [entry.content for entry in await ledger.get_active_entries("s")]
    assert active == (BATCH[-1:] if summaries else BATCH), "entries left the window without a summary"
    assert await events_of(ledger, "compaction.completed") == len(summaries)
    return len(summaries)


async def clear(ledger: MemoryLedger) -> None:
    await ledger.clear_session("s")


async def times_cleared(ledger: MemoryLedger) -> int:
    times = await events_of(ledger, "session.cleared")
    assert [entry.content for entry in await ledger.get_active_entries("s")] == ([] if times else BATCH)
    return times


async def configure(ledger: MemoryLedger) -> None:
    await ledger.update_config("s", {"tokenizer": "approximate"})


async def times_configured(ledger: MemoryLedger) -> int:
    times = await events_of(ledger, "config.changed")
    assert ((await ledger.get_state("s")).config.tokenizer == "approximate") == (times > 0)
    return times


def conversations() -> list[Conversation]:
    """Return three conversations of a hundred messages each, as from one file."""
    lines = [
        {"conversation_id": name, "messages": [{"role": "user", "content": f"{name} {at}"} for at in range(100)]}
        for name in ("imported-1", "imported-2", "imported-3")
    ]
    return read(documents([json.dumps(line).encode() for line in lines]), name="imported")


async def import_conversations(ledger: MemoryLedger) -> None:
    await ledger.import_conversations(conversations())


async def times_imported(ledger: MemoryLedger) -> int:
    """Return how often all conversations were recorded."""
    names = [conversation.session_id for conversation in conversations()]
    wanted = [draft.content for conversation in conversations() for batch in conversation.batches for draft in batch]
    times = whole([entry.content for name in names for entry in await ledger.get_active_entries(name)], wanted)
    opened = sum([await events_of(ledger, "session.opened", name) for name in names])
    assert opened == len(names) * min(times, 1), "a session was opened for nothing"
    return times


OPERATIONS: Final = {
    "append": Operation(talk, add_one, times_added),
    "batch": Operation(nothing, add_batch, times_begun),
    "compress": Operation(talk, compress, times_compressed),
    "clear": Operation(talk, clear, times_cleared),
    "configure": Operation(talk, configure, times_configured),
    "import": Operation(nothing, import_conversations, times_imported),
}
