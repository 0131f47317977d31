"""One write to several sessions, and whole keys of session data. Source: adapters LF-6, LF-10."""

import asyncio
import random
from typing import Any

import pytest

from ledger.errors import DuplicateEntry, IdempotencyMismatch, InvalidInput, Unavailable, VersionConflict
from ledger.memory import MemoryLedger
from ledger.ports import Appended, AppendRequest, Store, with_events
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over


def said(text: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "message", "role": "user", "content": text, **fields}


async def versions(ledger: MemoryLedger, *sessions: str) -> list[int]:
    return [(await ledger.get_stats(name)).version for name in sessions]


async def test_several_sessions_get_entries_and_data_in_one_write__LF_6(anywhere: MemoryLedger) -> None:
    written = await anywhere.write_sessions(
        [
            {"session_id": "b", "entries": [said("one"), said("two")], "data": {"step": 1}},
            {"session_id": "a", "user_id": "mara", "data": {"theme": {"dark": True}}},
        ]
    )
    assert [(each.session_id, each.version, len(each.entries)) for each in written] == [("b", 4, 2), ("a", 2, 0)]
    assert [entry.content for entry in await anywhere.get_active_entries("b")] == ["one", "two"]
    assert await anywhere.get_data("b") == {"step": 1}
    assert await anywhere.get_data("a", user_id="mara") == {"theme": {"dark": True}}
    positions = [event.position for event in await anywhere.get_feed()]
    assert positions == sorted(positions), "one append, one range of positions"
    assert (await anywhere.verify()).ok


async def test_one_refused_session_refuses_all__LF_6(anywhere: MemoryLedger) -> None:
    await anywhere.add_user_message("old", "hello", entry_id="e-1")
    before = len(await anywhere.get_feed())
    new = {"session_id": "new", "entries": [said("one")]}
    refused: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"session_id": "old", "data": {"a": 1}, "expected_version": 1}, VersionConflict),
        ({"session_id": "old", "entries": [said("other", entry_id="e-1")]}, DuplicateEntry),
        ({"session_id": "old", "data": {f"k{number}": 1 for number in range(1_001)}}, InvalidInput),
        ({"session_id": "new", "entries": [said("two")]}, InvalidInput),
        ({"session_id": "old"}, InvalidInput),
        ({"session_id": "old", "entries": "text"}, InvalidInput),
        ({"session_id": "old", "entries": [said("x")], "patch": {}}, InvalidInput),
        ({"session_id": "old", "data": {"a": 1}, "remove_data": ["a"]}, InvalidInput),
        ({"session_id": "old", "entries": [said("x")] * 1_000}, InvalidInput),
        ({"entries": [said("x")]}, InvalidInput),
    ]
    for write, error in refused:
        with pytest.raises(error):
            await anywhere.write_sessions([new, write])  # type: ignore[list-item]  # some are wrong
    for wrong in ([], [new] * 101, "text", [1]):
        with pytest.raises(InvalidInput):
            await anywhere.write_sessions(wrong)  # type: ignore[arg-type]  # what is refused
    assert len(await anywhere.get_feed()) == before, "nothing was written"


async def test_a_repeated_request_gets_the_first_answer__LF_6(anywhere: MemoryLedger) -> None:
    writes: Any = [
        {"session_id": "a", "entries": [said("one")], "expected_version": 0},
        {"session_id": "b", "entries": [said("two", entry_id="e-2")], "data": {"n": 1}},
    ]
    first = await anywhere.write_sessions(writes, idempotency_key="k")
    await anywhere.add_user_message("a", "later")
    again = await anywhere.write_sessions(writes[::-1], idempotency_key="k")
    assert [each.replayed for each in again] == [True, True]
    assert [each.version for each in again[::-1]] == [each.version for each in first]
    assert [each.entries for each in again[::-1]] == [each.entries for each in first]
    with pytest.raises(IdempotencyMismatch):
        await anywhere.write_sessions([*writes[:1], {"session_id": "b", "data": {"n": 2}}], idempotency_key="k")
    assert await versions(anywhere, "a", "b") == [3, 3]


async def test_a_write_that_changes_nothing_writes_nothing__LF_6(anywhere: MemoryLedger) -> None:
    same: Any = [{"session_id": name, "data": {"n": 1}} for name in "ab"]
    await anywhere.write_sessions(same)
    assert [each.version for each in await anywhere.write_sessions(same)] == [2, 2]
    assert len(await anywhere.get_feed()) == 4


async def crossing(ledgers: list[MemoryLedger], seed: int, *, writes: int = 12) -> None:
    """Write to pairs of three sessions in any order from all *ledgers*, beside writers to one of them."""
    chance = random.Random(seed)

    async def both(ledger: MemoryLedger, number: int) -> None:
        first, second = chance.sample("abc", 2)
        await ledger.write_sessions([{"session_id": name, "entries": [said(f"w{number}")]} for name in (first, second)])

    async def one(ledger: MemoryLedger, number: int) -> None:
        await ledger.add_user_message(chance.choice("abc"), f"s{number}")

    tasks = [
        work(ledger, number) for number in range(writes) for work, ledger in zip((both, one), ledgers, strict=True)
    ]
    chance.shuffle(tasks)
    async with asyncio.timeout(60):
        await asyncio.gather(*tasks)


async def halves(ledger: MemoryLedger) -> int:
    """Return how many of the writes to pairs are in one session only."""
    found = [entry.content for name in "abc" for entry in await ledger.get_active_entries(name)]
    return sum(found.count(text) != 2 for text in set(found) if text.startswith("w"))


async def test_writers_that_cross_wait_for_one_another_and_none_for_ever__LF_6(
    store: Store, namespace: str, seed: int
) -> None:
    ledgers = [ledger_over(store, namespace=namespace) for _ in range(2)]
    await crossing(ledgers, seed)
    assert await halves(ledgers[0]) == 0
    entries = [entry for name in "abc" for entry in await ledgers[0].get_active_entries(name)]
    assert len(entries) == 3 * 12
    assert (await ledgers[0].verify()).ok


class _Slow(EventStoreDecorator):
    """Takes a while, as a database does."""

    async def append(self, request: AppendRequest) -> Appended:
        await asyncio.sleep(0.01)
        return await super().append(request)


class _LosesAnswers(EventStoreDecorator):
    """Appends, and says that it could not."""

    async def append(self, request: AppendRequest) -> Appended:
        await super().append(request)
        raise Unavailable("the answer was lost")


async def test_turns_in_any_order_would_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: what the order of turns is for."""
    pairs: list[Any] = [[{"session_id": name, "data": {"n": pair}} for name in pair] for pair in ("ab", "ab", "ba")]

    async def all_at_once() -> None:
        store = InMemoryStore()
        ledger = ledger_over(with_events(store, _Slow(store.events)))
        async with asyncio.timeout(1):
            await asyncio.gather(*(ledger.write_sessions(pair) for pair in pairs))

    await all_at_once()
    monkeypatch.setattr("ledger.application.commands.joint_writes.sorted", list, raising=False)
    with pytest.raises(TimeoutError):
        await all_at_once()


async def test_a_write_whose_answer_was_lost_is_whole_and_known_by_its_key__LF_6() -> None:
    store = InMemoryStore()
    writes: Any = [{"session_id": name, "entries": [said(name)]} for name in "ab"]
    losing = with_events(store, _LosesAnswers(store.events))
    with pytest.raises(Unavailable):
        await ledger_over(losing).write_sessions(writes, idempotency_key="k")
    again = await ledger_over(store).write_sessions(writes, idempotency_key="k")
    assert [each.replayed for each in again] == [True, True]
    assert [each.version for each in again] == [2, 2]


async def test_a_session_that_expired_starts_anew_in_a_write_to_several__LF_6(anywhere: MemoryLedger) -> None:
    for name in "ab":
        await anywhere.add_user_message(name, "hello")
    await anywhere.set_expiry("a", 1)
    await asyncio.sleep(1.1)
    await anywhere.write_sessions([{"session_id": name, "entries": [said("again")]} for name in "ab"])
    found = [[entry.content for entry in await anywhere.get_active_entries(name)] for name in "ab"]
    assert found == [["again"], ["hello", "again"]]


async def test_a_whole_key_of_session_data_is_replaced__LF_10(anywhere: MemoryLedger) -> None:
    await anywhere.patch_data("s", {"a": {"x": 1, "y": 2}, "b": 1})
    patched = await anywhere.patch_data("s", {"a": {"x": 3}})
    assert patched.data["a"] == {"x": 3, "y": 2}, "a merge patch cannot"
    changed = await anywhere.set_data("s", {"a": {"x": None}, "c": None}, remove=["b"])
    assert changed.data == {"a": {"x": None}, "c": None}
    assert await anywhere.get_data("s") == changed.data
    same = await anywhere.set_data("s", {"c": None}, remove=["b"])
    assert same.version == changed.version
    with pytest.raises(VersionConflict):
        await anywhere.set_data("s", {"c": 1}, expected_version=1)
    for values, remove in (({"a": float("nan")}, []), ([], []), ({}, "abc"), ({}, 1), ({}, [1]), ({"a": 1}, ["a"])):
        with pytest.raises(InvalidInput):
            await anywhere.set_data("s", values, remove=remove)  # type: ignore[arg-type]  # what is refused


async def test_writers_of_different_keys_at_once_lose_nothing__LF_10(anywhere: MemoryLedger) -> None:
    await asyncio.gather(*(anywhere.set_data("s", {f"k{number}": number}) for number in range(10)))
    assert await anywhere.get_data("s") == {f"k{number}": number for number in range(10)}
    first = await anywhere.set_data("s", {"k0": "once"}, idempotency_key="k")
    again = await anywhere.set_data("s", {"k0": "once"}, idempotency_key="k")
    assert (again.version, again.replayed) == (first.version, True)
