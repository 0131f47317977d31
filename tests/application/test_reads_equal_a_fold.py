"""What is read in parts equals what a fold of the whole stream says."""

import random
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from ledger.application.reading.context_audit import derived, seen
from ledger.events import ContextRendered, EntryAdded, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from projections.log.history import HISTORY, History, PastEntry
from projections.log.lineage import LINEAGE, Lineage
from projections.values.persistent_list import PersistentList
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, live

Lived = tuple[MemoryLedger, Sequence[RecordedEvent]]


@pytest.fixture(params=CONFIGS)
async def lived(request: pytest.FixtureRequest, namespace: str, seed: int) -> Lived:
    """A ledger whose session ``s`` was lived under a config, and all events of that."""
    store = InMemoryStore()
    ledger = ledger_over(store, namespace=namespace, config=CONFIGS[request.param])
    await live(ledger, random.Random(seed), turns=15)
    return ledger, [decode(event) for event in await store.events.read_stream(Stream.of(namespace, "s"))]


async def check_entries(lived: Lived, history: History) -> None:
    for past in history.entries:
        record = await lived[0].get_entry("s", past.entry_id)
        found = {name: getattr(record, name) for name in PastEntry.__struct_fields__}
        if past.status == "cleared":
            found["summary_ids"] = past.summary_ids
        assert PastEntry(**found) == past


async def test_each_entry_has_the_fate_that_a_fold_gives_it(lived: Lived) -> None:
    await check_entries(lived, HISTORY.fold(lived[1]))


async def test_a_fate_that_differs_is_noticed(lived: Lived) -> None:
    """Negative control."""
    entries = HISTORY.fold(lived[1]).entries
    with pytest.raises(AssertionError):
        await check_entries(lived, History(PersistentList(replace(past, status="erased") for past in entries)))


async def check_audits(lived: Lived, lineage: Lineage) -> None:
    ledger, events = lived
    state = await ledger.get_state("s")
    for event in events:
        if isinstance(payload := event.payload, EntryAdded):
            expected = derived("s", payload.entry_id, (event.version,), state, lineage)
            assert await ledger.derived("s", event.version) == expected
        if isinstance(payload, ContextRendered):
            context = await ledger.get_context("s", version=payload.rendered_version)
            found = await ledger.seen("s", version=payload.rendered_version)
            assert (found.recorded and found.recorded.version, found.verdict) == (event.version, "proved")
            assert found.lines == seen(context, event, lineage).lines


async def test_an_audit_equals_a_fold_of_the_lineage(lived: Lived) -> None:
    await check_audits(lived, LINEAGE.fold(lived[1]))


async def test_a_lineage_without_its_last_half_is_noticed(lived: Lived) -> None:
    """Negative control."""
    with pytest.raises(AssertionError):
        await check_audits(lived, LINEAGE.fold(lived[1][: len(lived[1]) // 2]))
