"""All stored projections are rebuilt again and again while writers and readers go on (see JasperFx/marten#4964, #4977).

In the end nothing is missing or twice, and everything stored equals a replay.
"""

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from ledger.errors import Conflict
from ledger.events import RecordedEvent
from ledger.indexes.search.index_builds import SearchIndex
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.ledgers import ledger_over

pytestmark = pytest.mark.full

WRITERS, WRITES, REBUILDS = 4, 15, 4
DEADLINE_S = 120.0


async def write(ledger: MemoryLedger, number: int) -> None:
    for turn in range(WRITES):
        text = f"apple {number} of turn {turn}"
        added = await ledger.add_user_message(f"s{number}", text)
        if turn % 5 == 4:
            await ledger.edit_entry(f"s{number}", added.entry_id, f"{text}, edited")
        memory = {"id": f"r{number}-{turn}", "text": f"apples {number} {turn}", "user_id": f"u{number}"}
        await ledger.long_term.create([memory])


async def rebuild(ledger: MemoryLedger) -> None:
    for _ in range(REBUILDS):
        with suppress(Conflict):  # another rebuild was first
            await ledger.rebuild_projections()


async def read(ledger: MemoryLedger) -> None:
    """Read one's own writes, whichever build is live."""
    for turn in range(10):
        await ledger.add_user_message("own", f"pear {turn}")
        assert len(await ledger.search("pear", top_k=100)) == turn + 1
        assert "own" in {row.session_id for row in await ledger.list_sessions()}


async def at_once(store: Store, namespace: str) -> None:
    """Write, read and rebuild at once; then check that everything is there and equals a replay."""
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(WRITERS + 3)]
    async with asyncio.timeout(DEADLINE_S):
        await ledgers[0].add_user_message("s0", "the first")
        writers = [write(ledger, number) for number, ledger in enumerate(ledgers[:WRITERS])]
        await asyncio.gather(*writers, rebuild(ledgers[-1]), rebuild(ledgers[-2]), read(ledgers[-3]))
        anew = ledger_over(store, namespace=namespace)
        found = [hit.text for hit in await anew.search("apple", top_k=1_000)]
        assert len(found) == len(set(found)) == WRITERS * WRITES
        assert len(await anew.list_sessions()) == WRITERS + 1
        records = (await anew.long_term.search({"limit": 100})).memories
        assert len({each.record.record_id for each in records}) == len(records) == WRITERS * WRITES
        report = await anew.verify(caches=True)
        assert (report.verdict, report.findings) == ("OK-CHAINED", ())
        live = [build for build in await anew.projection_builds() if build.status == "live"]
        assert {build.position for build in live if build.name != "jobs"} == {live[0].last_position}


async def test_all_projections_are_rebuilt_while_writers_go_on(store: Store, namespace: str) -> None:
    await at_once(store, namespace)


async def test_a_build_that_forgets_the_events_of_a_running_rebuild_is_noticed(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: a fold that passes over an event now and then."""
    changes = SearchIndex._changes

    async def forgetful(self: SearchIndex, stream_id: UUID, event: RecordedEvent, requests: Any) -> list[Any]:
        return [] if event.position % 7 == 3 else await changes(self, stream_id, event, requests)

    monkeypatch.setattr(SearchIndex, "_changes", forgetful)
    with pytest.raises((AssertionError, ExceptionGroup)):
        await at_once(store, namespace)
