"""Kept values in the event store: by key, range and version, also in forks. Source: adapters LF-1."""

from random import Random
from typing import Any
from uuid import UUID

from ledger.events import KeptRemoved, KeptSet, NewEvent, StoredEvent
from ledger.events.codec import SALT_BYTES, decode, encode
from ledger.events.ids import Stream
from ledger.ports import Store
from tests.support.store_requests import an_event, append, fork


def kept(key: str, *, space: str = "s", removed: bool = False) -> NewEvent:
    about: dict[str, Any] = {"write_id": "w", "space": space, "key": key}
    event = KeptRemoved(**about) if removed else KeptSet(**about, value=key)
    codec, structure, content = encode(event, bytes(SALT_BYTES))
    return NewEvent(
        UUID(bytes=Random().randbytes(16)),
        event.type,
        event.schema_version,
        codec,
        0,
        "",
        structure,
        content,
        event.item_id,
    )


def places(events: list[StoredEvent]) -> list[tuple[str | None, int, bool]]:
    """Return of each event its item, its version, and whether it removes."""
    return [(event.item_id, event.version, event.type == "kept.removed") for event in events]


async def test_the_newest_of_each_key_is_found_in_the_order_of_code_points__LF_1(store: Store, stream: Stream) -> None:
    await append(store, stream, kept("b"), kept("a"), an_event("entry", item_id="s/b"), kept("é"), kept("B"), kept("b"))
    find = store.events.read_kept
    found = await find(stream, first="s/", end="s0")
    assert places(found) == [("s/B", 5, False), ("s/a", 2, False), ("s/b", 6, False), ("s/é", 4, False)]
    payloads: list[Any] = [decode(event).payload for event in found]
    assert [payload.value for payload in payloads] == ["B", "a", "b", "é"]
    assert await find(stream, first="s/", end="s0", greatest_first=True) == found[::-1]
    assert await find(stream, first="s/", end="s0", greatest_first=True, limit=2) == found[:1:-1]
    assert await find(stream, first="s/a", end="s/b", limit=5) == found[1:2]
    assert [place.version for place in await find(stream, first="s/b", end="s/b\x01", every=True)] == [1, 6]
    assert [place.version for place in await find(stream, first="s/b", end="s/b\x01", until=5)] == [1]
    assert await find(stream, first="s/b", end="s/b\x01", after=6) == []


async def test_a_removal_is_the_newest_event_of_its_key__LF_1(store: Store, stream: Stream) -> None:
    await append(store, stream, kept("a"), kept("a", removed=True))
    assert places(await store.events.read_kept(stream, first="s/", end="s0")) == [("s/a", 2, True)]


async def test_a_fork_reads_what_its_parent_kept_up_to_the_fork__LF_1(store: Store, stream: Stream) -> None:
    child = Stream.of(stream.namespace, "fork", stream.user_id)
    grandchild = Stream.of(stream.namespace, "fork-2", stream.user_id)
    await append(store, stream, kept("a"), kept("b"), kept("c"))
    await fork(store, stream, 2, child, an_event("opening"))
    await append(store, stream, kept("a"))
    await append(store, child, kept("b", removed=True), kept("d"))
    await fork(store, child, 4, grandchild, an_event("opening"))
    find = store.events.read_kept
    assert places(await find(child, first="s/", end="s0")) == [("s/a", 1, False), ("s/b", 4, True), ("s/d", 5, False)]
    assert [place.item_id for place in await find(child, first="s/", end="s0", limit=1)] == ["s/a"]
    found = await find(grandchild, first="s/", end="s0", greatest_first=True)
    assert places(found) == [("s/b", 4, True), ("s/a", 1, False)]
    assert [place.version for place in await find(child, first="s/b", end="s/c", every=True)] == [2, 4]


async def test_any_range_is_found_as_a_sort_in_memory_finds_it__LF_1(store: Store, stream: Stream, seed: int) -> None:
    random = Random(seed)
    keys = [random.choice("aAzZ.é~\U0001f600") * random.randint(1, 3) for _ in range(60)]
    removed = [random.random() < 0.2 for _ in keys]
    await append(store, stream, *(kept(key, removed=gone) for key, gone in zip(keys, removed, strict=True)))
    for _ in range(20):
        low, high = sorted(random.sample(keys, 2))
        newest = {f"s/{key}": at for at, key in enumerate(keys, 1) if low <= key < high}
        expected = [(item, at, removed[at - 1]) for item, at in sorted(newest.items())]
        assert places(await store.events.read_kept(stream, first=f"s/{low}", end=f"s/{high}")) == expected
