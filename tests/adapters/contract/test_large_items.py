"""Items over the limits of an entry are stored beside it, and come back equal. Source: adapters AD-5, LF-5."""

import random
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import pytest

from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import KeptSet
from ledger.events.limits import CONTENT_BYTES
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.adapters.contract.large_kinds import LARGE_KINDS, PNG, LargeKind, each_large_kind
from tests.support.ledgers import ledger_over

#: What a graph has is stored as its own serializer writes it; all others store items as entries.
OF_ENTRIES = [large for large in LARGE_KINDS if large.kind.name != "langgraph"]
MIB = 2**20


def image(number: int, mib: int = 7) -> str:
    """Return a data URL with that many MiB of base64."""
    return PNG + b64encode(random.Random(number).randbytes(mib * MIB // 4 * 3)).decode()


def text(number: int) -> str:
    """Return a text of 3 MiB."""
    return f"{number} " + "word 日本語 " * (3 * MIB // 15)


def kept_bytes(events: Sequence[Any]) -> int:
    """Return how many bytes were stored beside entries."""
    return sum(len(event.payload.content or b"") for event in events if isinstance(event.payload, KeptSet))


async def events_of(large: LargeKind, ledger: MemoryLedger, session: str = "s") -> Sequence[Any]:
    return await ledger.get_events(session, user_id=large.kind.user_id)


@each_large_kind
async def test_large_items_come_back_equal__LF_5(large: LargeKind, store: Store, namespace: str) -> None:
    items = [image(1), text(2), image(3, mib=10), "small"]
    adapter = large.kind.open(ledger=ledger_over(store, namespace=namespace))
    for item in items:
        await large.write(adapter, [item])
    ledger = ledger_over(store, namespace=namespace)
    assert await large.read(large.kind.open(ledger=ledger)) == items
    assert (await ledger.verify()).ok


async def check_ten(large: LargeKind, store: Store, namespace: str) -> None:
    items = [image(number) for number in range(10)]
    await large.write(large.kind.open(ledger=ledger_over(store, namespace=namespace)), items)
    assert await large.read(large.kind.open(ledger=ledger_over(store, namespace=namespace))) == items


@each_large_kind
async def test_ten_large_items_are_one_write__LF_5(large: LargeKind, namespace: str) -> None:
    await check_ten(large, InMemoryStore(), namespace)


@pytest.mark.slow
@each_large_kind
async def test_ten_large_items_are_one_write_on_postgresql__LF_5(
    large: LargeKind, postgres_store: PostgresStore, namespace: str
) -> None:
    await check_ten(large, postgres_store, namespace)


@pytest.mark.parametrize("large", OF_ENTRIES, ids=lambda large: large.kind.name)
async def test_equal_bytes_of_a_session_are_stored_once__LF_5(large: LargeKind, store: Store, namespace: str) -> None:
    same = image(1)
    ledger = ledger_over(store, namespace=namespace)
    adapter = large.kind.open(ledger=ledger)
    await large.write(adapter, [same, "a", same])
    await large.write(large.kind.open(ledger=ledger_over(store, namespace=namespace)), [same, "b"])
    assert await large.read(adapter) == [same, "a", same, same, "b"]
    assert 5 * MIB < kept_bytes(await events_of(large, ledger)) < 6 * MIB


@each_large_kind
async def test_a_fork_and_an_old_version_have_large_items__LF_5(large: LargeKind, store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    adapter = large.kind.open(ledger=ledger)
    first, second = [image(1)], [text(2)]
    await large.write(adapter, first)
    version = (await ledger.get_state("s", user_id=large.kind.user_id)).version
    await large.write(adapter, second)
    assert await large.read_at(adapter, version) == first
    assert await large.read_fork(adapter) == first + second


@pytest.mark.parametrize("large", OF_ENTRIES, ids=lambda large: large.kind.name)
async def test_each_version_with_a_large_item_has_its_values__LF_5(large: LargeKind) -> None:
    ledger = ledger_over(InMemoryStore())
    adapter = large.kind.open(ledger=ledger)
    await large.write(adapter, [image(1)])
    last = (await ledger.get_state("s", user_id=large.kind.user_id)).version
    found = [await large.read_at(adapter, version) for version in range(1, last + 1)]
    assert all(each in ([], [image(1)]) for each in found)
    assert found[-1] == [image(1)]


@each_large_kind
async def test_a_copy_of_the_session_has_large_items__LF_5(large: LargeKind) -> None:
    ledger, copy = ledger_over(InMemoryStore()), ledger_over(InMemoryStore())
    items = [image(1), text(2)]
    await large.write(large.kind.open(ledger=ledger), items)
    lines = [line async for line in ledger.export_file("s", user_id=large.kind.user_id)]
    await copy.import_file(lambda: lines)
    assert await large.read(large.kind.open(ledger=copy)) == items


@pytest.mark.parametrize("large", OF_ENTRIES, ids=lambda large: large.kind.name)
async def test_the_window_shows_the_beginning_of_a_long_text__LF_5(large: LargeKind) -> None:
    ledger = ledger_over(InMemoryStore())
    adapter = large.kind.open(ledger=ledger)
    await large.write(adapter, [text(1)])
    entry, *_ = await ledger.get_active_entries("s", user_id=large.kind.user_id)
    assert entry.content.startswith(text(1)[:100_000])
    assert len(entry.content.encode()) < CONTENT_BYTES
    assert entry.content.endswith(" more characters)")


@pytest.mark.parametrize("large", OF_ENTRIES, ids=lambda large: large.kind.name)
async def test_a_session_that_ended_is_restored_with_large_items__LF_5(large: LargeKind) -> None:
    ledger = ledger_over(InMemoryStore())
    adapter, user_id = large.kind.open(ledger=ledger), large.kind.user_id
    items = [image(1), text(2)]
    await large.write(adapter, items)
    version = (await ledger.get_state("s", user_id=user_id)).version
    await ledger.clear_session("s", end=True, user_id=user_id)
    assert await large.read(adapter) == []
    await ledger.restore("s", version, user_id=user_id)
    assert await large.read(adapter) == items
    await large.write(adapter, [image(1)])  # its bytes are of an earlier life
    assert await large.read(adapter) == [*items, image(1)]


@each_large_kind
async def test_more_than_one_write_may_have_is_refused_whole__LF_5(
    large: LargeKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_over(InMemoryStore())
    adapter = large.kind.open(ledger=ledger)
    await large.write(adapter, ["a"])
    before = [event.payload for event in await events_of(large, ledger)]
    monkeypatch.setattr("ledger.session.attachments.BESIDE_BYTES", 6 * MIB)
    with pytest.raises(InvalidInput, match=r"must have at most 6 MiB .* write fewer items") as refused:
        await large.write(adapter, [image(1), image(2)])
    assert refused.value.code == "too_large"
    assert [event.payload for event in await events_of(large, ledger)] == before
    assert await large.read(adapter) == ["a"]


@pytest.mark.parametrize("large", OF_ENTRIES, ids=lambda large: large.kind.name)
async def test_small_items_take_no_look_up__LF_5(large: LargeKind, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ledger_over(InMemoryStore())
    adapter = large.kind.open(ledger=ledger)
    monkeypatch.setattr("ledger.adapters.large_items.read_by_digest", not_called)
    await large.write(adapter, [image(1, mib=5), "b"])
    assert await large.read(adapter) == [image(1, mib=5), "b"]
    assert not kept_bytes(await events_of(large, ledger))


async def not_called(*given: Any, **named: Any) -> None:
    raise AssertionError("called")


@each_large_kind
async def test_values_that_are_not_stored_are_missed(large: LargeKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: an adapter that stores only the entries."""

    async def keeps_nothing(*given: Any) -> list[Any]:
        return []

    for module in ("entry_writes", "entries_with_data", "tail"):
        monkeypatch.setattr(f"ledger.application.writing.{module}.keep_once", keeps_nothing)
    monkeypatch.setattr("ledger.adapters.langgraph.checkpoint_writes.blob_values", lambda blobs, besides=(): [])
    store = InMemoryStore()
    try:
        await large.write(large.kind.open(ledger=ledger_over(store)), [image(1)])
    except LogCorrupted:  # a graph and an agent read what they wrote
        return
    with pytest.raises(LogCorrupted, match="lacks a stored value"):
        await large.read(large.kind.open(ledger=ledger_over(store)))
