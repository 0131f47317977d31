"""An export needs no more memory for a longer log, also one of large events. Source: trust E-12."""

import tracemalloc
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.events import StoredEvent
from ledger.history import read_ahead
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

TEXT = 128 * 1024
SHORT, LONG = 100, 400
#: How much more a log of four times the length may need.
MORE = 8 * 1024 * 1024


async def filled(entries: int) -> InMemoryStore:
    store = InMemoryStore()
    ledger = ledger_over(store, config={"profile": "none", "tokenizer": "approximate"})
    for number in range(entries):
        await ledger.add_user_message("s", f"{number} ".ljust(TEXT, "x"))
    return store


async def peak(store: InMemoryStore, session: str | None) -> int:
    """Return the most bytes that an export holds beside the log, whose pages are copied as a database's are."""
    ledger: MemoryLedger = ledger_over(copying(store))
    tracemalloc.start()
    try:
        async for _ in ledger.export_file(session):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def copying(store: InMemoryStore) -> InMemoryStore:
    """Return *store* with reads whose payloads are the reader's own, as those of a database are."""
    for name in ("read_page", "read_namespace"):
        setattr(store.events, name, partial(_copied, getattr(store.events, name)))
    return store


async def _copied(read: Any, *names: Any, **bounds: Any) -> list[StoredEvent]:
    return [replace(event, content=bytes(bytearray(event.content or b""))) for event in await read(*names, **bounds)]


@pytest.mark.parametrize("session", ["s", None], ids=["a session", "a namespace"])
async def test_an_export_of_a_long_log_holds_no_more_than_of_a_short_one(session: str | None) -> None:
    short, long = [await peak(await filled(entries), session) for entries in (SHORT, LONG)]
    assert long - short < MORE


async def test_pages_of_a_thousand_large_events_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_ahead, "PAGE_BYTES", 2**40)
    short, long = [await peak(await filled(entries), "s") for entries in (SHORT, LONG)]
    assert long - short > MORE
