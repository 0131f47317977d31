"""The transcript, and changes of the end of a session in one write (adapters LF-2, LF-3, LF-4, LF-8, AD-6, AD-7)."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from ledger.application.reading import transcript
from ledger.application.writing.entry_writes import add_drafts
from ledger.errors import (
    CompactionNotCompleted,
    EntryNotFound,
    InvalidInput,
    NotEnoughEntries,
    SessionNotFound,
    VersionConflict,
    VersionNotFound,
)
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.results import ConfigLike
from ledger.session.entry_drafts import draft_entry
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

SHORT = {"compactions": [{"type": "token_threshold", "max_entries": 4, "recent_window": 2}]}


async def texts(ledger: MemoryLedger, **asked: int) -> list[str]:
    return [entry.content for entry in await ledger.get_transcript("s", **asked)]


async def test_compacted_entries_stay_in_the_transcript(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config=SHORT)
    for number in range(9):
        await ledger.add_user_message("s", f"m{number}")
        await ledger.settle()
    assert len(await ledger.get_active_entries("s")) < 9, "or this proves nothing"
    assert await texts(ledger) == [f"m{number}" for number in range(9)]
    assert await texts(ledger, last=2) == ["m7", "m8"]
    assert await texts(ledger, last=0) == []
    assert await texts(ledger, version=3) == ["m0", "m1"]


async def test_what_was_removed_or_cleared_is_not_in_it(store: Store, namespace: str, seed: int) -> None:
    """The same as all entries without those removed, whatever happened, for any number of the newest."""
    ledger, dice = ledger_over(store, namespace=namespace, config={"profile": "none"}), random.Random(seed)
    for number in range(60):
        match dice.randrange(12):
            case 0:
                await ledger.clear_session("s")
            case 1 | 2 | 3:
                await ledger.pop_entry("s")
            case _:
                await ledger.add_user_message("s", f"m{number}")
    await ledger.add_entries("s", [{"role": "user", "content": text} for text in "abc"])
    newest = (await ledger.get_state("s")).version
    for version in (newest, newest // 2, 2):
        active = [entry.content for entry in await ledger.get_active_entries("s", version=version)]
        assert await texts(ledger, version=version) == active
        for last in (1, 3, 10, 1_000):
            assert await texts(ledger, version=version, last=last) == active[-last:]
    middle = (await ledger.get_transcript("s", last=3))[0].version
    assert len(await ledger.get_transcript("s", after=middle)) == 2


async def test_an_unknown_session_has_no_transcript_and_bad_limits_are_refused() -> None:
    ledger = ledger_over(InMemoryStore())
    assert await ledger.get_transcript("nobody") == []
    assert await ledger.pop_entry("nobody") is None
    for wrong in ({"last": -1}, {"last": True}, {"after": -1}):
        with pytest.raises(InvalidInput):
            await ledger.get_transcript("nobody", **wrong)


async def test_the_newest_entries_cost_the_same_in_any_history() -> None:
    costs = []
    for size in (200, 2_000):
        store = CountingStore(InMemoryStore())
        ledger = ledger_over(store, config={"profile": "none"})
        await ledger.add_entries("s", [{"role": "user", "content": str(at)} for at in range(1_000)][: min(size, 1_000)])
        for _ in range(size // 1_000):
            await ledger.add_entries("s", [{"role": "user", "content": str(at)} for at in range(1_000)])
        await ledger.get_transcript("s", last=1)
        store.reset()
        await ledger.get_transcript("s", last=20)
        costs.append((store.events_read, len(store.calls)))
    assert costs[0] == costs[1]
    assert costs[0][0] <= 40


async def a_life(ledger: MemoryLedger, dice: random.Random, steps: int) -> None:
    """Do all that can become of entries to session ``s``, a fork of ``origin``."""
    session = "origin"
    await ledger.add_user_message(session, "the first")
    for number in range(steps):
        if number == steps // 2:
            await ledger.fork("origin", "s")
            session = "s"
        await ledger.settle()
        match dice.randrange(14):
            case 0 if dice.random() < 0.3:
                await ledger.clear_session(session)
            case 1 | 2:
                await ledger.pop_entry(session)
            case 3 | 4 if active := await ledger.get_active_entries(session):
                await ledger.edit_entry(
                    session, dice.choice(active).entry_id, f"edited {number} " + "and more of it " * 20
                )
            case 5 if active := await ledger.get_active_entries(session):
                await ledger.remove_entry(session, dice.choice(active).entry_id)
            case 6 | 7:
                await ledger.keep(session, [{"space": "x", "key": f"key {number}", "value": b"value"}])
            case 8:
                with suppress(NotEnoughEntries, CompactionNotCompleted):
                    await ledger.compress(session, force=True)
            case _:
                await ledger.add_user_message(session, f"m{number} " + "and more of it " * 20)


async def differing(ledger: MemoryLedger, *, cold: Callable[[], MemoryLedger]) -> list[str]:
    """Return where the newest entries that a new process reads are not the end of the transcript."""
    newest = (await ledger.get_state("s")).version
    found = []
    for version in range(1, newest + 1):
        whole = await ledger.get_transcript("s", version=version)
        for last in (0, 1, 3, 10, 1_000):
            asked = {} if version == newest else {"version": version}
            if await cold().get_transcript("s", last=last, **asked) != (whole[-last:] if last else []):
                found.append(f"{version=} {last=}")
    return found


async def test_a_new_process_reads_the_end_of_the_same_transcript__LF_11(
    store: Store, namespace: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "_BESIDE_ENTRIES", 2)
    ledger = ledger_over(store, namespace=namespace, config=SHORT)
    await a_life(ledger, random.Random(seed), 60)

    def cold() -> MemoryLedger:
        return ledger_over(store, namespace=namespace)

    assert await differing(ledger, cold=cold) == []


async def test_a_read_that_misses_a_clear_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "_BESIDE_ENTRIES", 2)
    store = InMemoryStore()
    ledger = ledger_over(store, config=SHORT)
    await ledger.add_user_message("s", "before")
    await ledger.clear_session("s")
    await ledger.add_user_message("s", "after")
    for number in range(9):
        await ledger.keep("s", [{"space": "x", "key": f"key {number}", "value": b"value"}])
    assert await differing(ledger, cold=lambda: ledger_over(store)) == []
    monkeypatch.setattr(transcript, "_OTHERS", [*transcript._OTHERS, "session.cleared"])
    assert await differing(ledger, cold=lambda: ledger_over(store))


async def test_the_past_is_read_by_its_end_too(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_user_message("s", "one")
    moment = (await ledger.get_state("s")).updated_at
    with pytest.raises(VersionNotFound, match="versions 1 to 2"):
        await ledger.get_transcript("s", last=3, version=9)
    with pytest.raises(VersionNotFound):
        await ledger.get_transcript("s", last=3, version=0)
    with pytest.raises(VersionNotFound, match="at that moment"):
        await ledger.get_transcript("s", last=3, at="2020-01-01T00:00:00Z")
    with pytest.raises(SessionNotFound):
        await ledger.get_transcript("nobody", last=3, version=1)
    assert [entry.content for entry in await ledger.get_transcript("s", last=3, at=moment)] == ["one"]
    assert await ledger_over(store, namespace=namespace).get_transcript("nobody", last=3) == []


async def test_a_new_process_reads_the_newest_entries_in_one_call__LF_11() -> None:
    store = InMemoryStore()
    writer = ledger_over(store, config=SHORT)
    for _ in range(3):
        await writer.add_entries("s", [{"role": "user", "content": str(at)} for at in range(1_000)])
        counting = CountingStore(store)
        found = await ledger_over(counting).get_transcript("s", last=20)
        assert [entry.content for entry in found] == [str(at) for at in range(980, 1_000)]
        assert counting.calls == ["read_newest"]
        assert counting.events_read <= 40


async def test_concurrent_callers_pop_different_entries__LF_3(store: Store, namespace: str) -> None:
    one, other = (ledger_over(store, namespace=namespace, config={"profile": "none"}) for _ in range(2))
    await one.add_entries("s", [{"role": "user", "content": str(at)} for at in range(20)])
    popped = await asyncio.gather(*(ledger.pop_entry("s") for ledger in (one, other) for _ in range(11)))
    found = [entry.content for entry in popped if entry is not None]
    assert sorted(map(int, found)) == list(range(20))
    assert popped.count(None) == 2
    assert await one.get_transcript("s") == []
    assert len((await one.get_history("s")).entries) == 20, "nothing is lost"


async def test_several_are_removed_in_one_write_or_none(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config={"profile": "none"})
    added = await ledger.add_entries("s", [{"role": "user", "content": str(at)} for at in range(4)])
    ids = [entry.entry_id for entry in added.entries]
    with pytest.raises(EntryNotFound):
        await ledger.remove_entries("s", [ids[0], "unknown"])
    assert await texts(ledger) == ["0", "1", "2", "3"]
    with pytest.raises(VersionConflict):
        await ledger.remove_entries("s", ids, expected_version=1)
    with pytest.raises(InvalidInput):
        await ledger.remove_entries("s", [])
    assert await ledger.remove_entries("s", [ids[0], ids[2], ids[0]]) == added.version + 2
    assert await texts(ledger) == ["1", "3"]


async def test_the_tail_is_replaced_in_one_write_or_not_at_all(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config={"profile": "none"})
    added = await ledger.add_entries("s", [{"role": "user", "content": str(at)} for at in range(4)])
    new = [{"role": "assistant", "content": "instead"}]
    with pytest.raises(VersionConflict):
        await ledger.replace_tail("s", new, count=2, expected_version=added.version - 1)
    with pytest.raises(InvalidInput):
        await ledger.replace_tail("s", new, count=5, expected_version=added.version)
    with pytest.raises(InvalidInput):
        await ledger.replace_tail("s", [], count=0, expected_version=added.version)
    assert await texts(ledger) == ["0", "1", "2", "3"]
    replaced = await ledger.replace_tail("s", new, count=2, expected_version=added.version)
    assert replaced.version == added.version + 3
    assert await texts(ledger) == ["0", "1", "instead"]


async def test_a_session_that_begins_has_the_config_of_its_batch__LF_8(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config=SHORT)
    await ledger.add_entries("s", [{"role": "user", "content": "a"}], config={"profile": "none"})
    assert (await ledger.get_state("s")).config.compactions == ()
    await ledger.add_entries("s", [{"role": "user", "content": "b"}], config=SHORT)
    assert (await ledger.get_state("s")).config.compactions == (), "one that is there keeps its own"
    with pytest.raises(InvalidInput):
        await ledger.add_entries("t", [{"role": "user", "content": "a"}], config={"window": {"type": "none such"}})
    assert await ledger.list_sessions(id_part="t") == []


async def test_more_than_a_thousand_drafts_are_one_write__LF_4(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config={"profile": "none"})
    drafts = [draft_entry({"role": "user", "content": str(at)}) for at in range(2_500)]
    added = await add_drafts(ledger._handle, ledger._handle.stream("s", None), drafts)
    assert len(added.entries) == 2_500
    assert len({entry.write_id for entry in await ledger.get_transcript("s")}) == 1


@pytest.mark.parametrize("config", [SHORT, {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 6}]}])
async def test_the_newest_is_popped_compacted_or_not__AD_6(store: Store, namespace: str, config: ConfigLike) -> None:
    """Also where an older entry is active, as a system message is; nothing is counted twice."""
    ledger = ledger_over(store, namespace=namespace, config=config)
    await ledger.add_entries("s", [{"role": "system", "content": "be brief"}])
    for number in range(9):
        await ledger.add_user_message("s", f"m{number} " + "and more of it " * 20)
        await ledger.settle()
    await ledger.compress("s", force=True)
    before = await ledger.get_stats("s")
    assert before.compressed_entries, "or this proves nothing"
    for number in reversed(range(9)):
        popped = await ledger.pop_entry("s")
        assert popped is not None
        assert popped.content.startswith(f"m{number} ")
        stats = await ledger.get_stats("s")
        assert stats.removed_entries == 9 - number
        assert stats.active_entries + stats.compressed_entries + stats.removed_entries == 10
    assert await texts(ledger) == ["be brief"]
    other = ledger_over(store, namespace=namespace, config=config)
    assert await other.get_stats("s") == await ledger.get_stats("s"), "folded from the log"
    assert {past.status for past in (await ledger.get_history("s")).entries[1:]} == {"removed"}
    assert (await ledger.verify("s")).ok
