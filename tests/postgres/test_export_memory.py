"""An export holds two pages of a session, however long it is and however large its events are. Source: trust E-12."""

import asyncio
import tracemalloc

import pytest

from ledger.history import read_ahead
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.ledgers import ledger_over

pytestmark = pytest.mark.postgres

PAGE_BYTES = 512 * 1024
#: Two pages, each over by one event, and the lines of one, in base64; what the driver copies, and small events.
MOST_BYTES = 8 * PAGE_BYTES
LARGE, SMALL = 60, 700
TEXT = "x" * 200_000


@pytest.fixture
async def ledger(fresh_store: Store) -> MemoryLedger:
    """Two sessions, one a fork, whose first and last events are large, with many small ones between them."""
    ledger = ledger_over(fresh_store)
    await add(ledger, "s", *[TEXT] * (LARGE // 2))
    await add(ledger, "s", *["small"] * SMALL)
    await ledger.fork("s", "f")
    for name in ("s", "f"):
        await add(ledger, name, *[TEXT] * (LARGE // 2))
    return ledger


async def add(ledger: MemoryLedger, session: str, *texts: str) -> None:
    entries = [{"kind": "message", "role": "user", "content": text, "tokens": 1} for text in texts]
    await ledger.add_entries(session, entries)


@pytest.mark.full
async def test_an_export_of_large_events_takes_little_memory__E_12(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_ahead, "PAGE_BYTES", PAGE_BYTES)
    for name in ("s", "f"):
        tracemalloc.start()
        try:
            count = size = 0
            async for line in ledger.export_file(name):
                await asyncio.sleep(0.001)  # the next page arrives meanwhile
                count, size = count + 1, size + len(line)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert count > LARGE + SMALL
        assert size > 3 * MOST_BYTES, "negative control: all of it does not fit into the bound"
        assert peak < MOST_BYTES, name
