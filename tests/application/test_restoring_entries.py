"""One entry becomes what it was: its text before an edit, or the entry that was removed or cleared."""

import pytest

from ledger.errors import EntryCovered, EntryNotFound, InvalidInput, VersionConflict
from ledger.memory import MemoryLedger
from ledger.ports import Store
from projections.stats import SessionStats
from tests.support.ledgers import ledger_over


@pytest.fixture
async def talked(store: Store, namespace: str) -> MemoryLedger:
    """A session "s" at version 3, with the entries "a" and "b"."""
    ledger = ledger_over(store, namespace=namespace)
    first = {"role": "user", "content": "hello", "entry_id": "a", "metadata": {"k": 1}, "data": [1]}
    await ledger.add_entries("s", [first, {"role": "assistant", "content": "hi", "entry_id": "b"}])
    return ledger


async def texts(ledger: MemoryLedger) -> list[tuple[str, str]]:
    return [(entry.entry_id, entry.content) for entry in await ledger.get_active_entries("s")]


async def test_an_edit_is_undone_in_its_place(talked: MemoryLedger) -> None:
    before = await talked.get_stats("s")
    await talked.edit_entry("s", "a", "hello, edited")
    assert await talked.restore_entry("s", "a") == 5
    assert await texts(talked) == [("a", "hello"), ("b", "hi")]
    after: SessionStats = await talked.get_stats("s")
    assert (after.active_tokens, after.total_entries) == (before.active_tokens, before.total_entries)
    await talked.edit_entry("s", "a", "third")
    await talked.restore_entry("s", "a", version=4)
    assert (await texts(talked))[0] == ("a", "hello, edited")
    assert (await talked.verify("s")).ok


@pytest.mark.parametrize("clear", [False, True], ids=["removed", "cleared"])
async def test_an_entry_that_left_comes_back_with_its_id_fields_and_time(talked: MemoryLedger, clear: bool) -> None:
    (was, _) = await talked.get_active_entries("s")
    await talked.edit_entry("s", "a", "last words")
    await (talked.clear_session("s") if clear else talked.remove_entry("s", "a"))
    assert await talked.restore_entry("s", "a") == 6
    found = (await talked.get_active_entries("s"))[-1]
    assert (found.entry_id, found.content, found.created_at) == ("a", "last words", was.created_at)
    assert (found.metadata, found.data, found.kind, found.role) == (was.metadata, was.data, was.kind, was.role)
    assert [change.type for change in (await talked.get_entry("s", "a")).history][-1] == "entry.added"
    assert await talked.restore_entry("s", "a", version=2) == 7
    assert dict(await texts(talked))["a"] == "hello"
    assert await talked.matches_replay("s")


async def test_what_is_as_wanted_already_writes_nothing(talked: MemoryLedger) -> None:
    for version in (None, 2, 3):
        assert await talked.restore_entry("s", "a", version=version) == 3


async def test_what_cannot_be_restored_is_refused_and_writes_nothing(talked: MemoryLedger) -> None:
    await talked.remove_entry("s", "b")
    for wrong, error in (
        (talked.restore_entry("s", "c"), EntryNotFound),
        (talked.restore_entry("s", "b", version=2), EntryNotFound),  # it was not there yet
        (talked.restore_entry("s", "b", version=4), EntryNotFound),  # it was removed
        (talked.restore_entry("s", "b", version=0), InvalidInput),
        (talked.restore_entry("s", "a b"), InvalidInput),
        (talked.restore_entry("s", "b", expected_version=3), VersionConflict),
        (talked.restore_entry("t", "b"), EntryNotFound),
    ):
        with pytest.raises(error):
            await wrong
    assert (await talked.get_state("s")).version == 4
    await talked.clear_session("s", end=True)
    with pytest.raises(EntryNotFound):
        await talked.restore_entry("s", "b")


async def test_an_entry_behind_a_summary_is_not_restored(talked: MemoryLedger) -> None:
    await talked.update_config("s", {"recentWindow": 0})
    await talked.edit_entry("s", "a", "a text that is long enough for a summary " * 20)
    await talked.compress("s", force=True)
    with pytest.raises(EntryCovered):
        await talked.restore_entry("s", "a")


async def test_a_repetition_under_a_key_restores_once(talked: MemoryLedger) -> None:
    await talked.remove_entry("s", "a")
    first = await talked.restore_entry("s", "a", idempotency_key="k")
    again = await talked.restore_entry("s", "a", idempotency_key="k")
    assert (first, first.replayed, again, again.replayed) == (5, False, 5, True)


async def test_what_comes_back_has_the_facts_of_its_newest_text(talked: MemoryLedger) -> None:
    """Whether a text reads as an error is stored beside it; `verify` compares the two."""
    for entry_id, text in (("a", "Error: no"), ("b", "fine")):
        await talked.edit_entry("s", entry_id, text)
        await talked.remove_entry("s", entry_id)
        await talked.restore_entry("s", entry_id)
    assert [text for _, text in await texts(talked)] == ["Error: no", "fine"]
    assert (await talked.verify("s")).ok
