"""Entries in pages, and the fate of each at every version, are what the folds of the library say."""

import random
from typing import Any

import pytest

from ledger.application.auditing import entry_causes
from ledger.application.reading import entry_pages
from ledger.errors import EntryNotFound, InvalidInput, VersionNotFound
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from projections.values.ranges import contains
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, live

ROLLING: dict[str, Any] = {"profile": "rolling_interactions", "size": 2, "max_summaries": 1}
SMALL: dict[str, Any] = {"max_entries": 5, "recent_window": 2, "min_entries_to_compress": 2}


async def lived(config: dict[str, Any], seed: int, turns: int = 12) -> MemoryLedger:
    ledger = ledger_over(CountingStore(InMemoryStore()), config=config)
    await live(ledger, random.Random(seed), turns=turns)
    await ledger.remove_entry("s", (await ledger.add_user_message("s", "said by mistake")).entry_id)
    return ledger


@pytest.mark.parametrize("config", CONFIGS)
async def test_pages_and_fates_are_those_of_the_history(config: str, seed: int) -> None:
    ledger, dice = await lived(CONFIGS[config], seed), random.Random(seed)
    newest = (await ledger.get_state("s")).version
    for version in [*sorted(dice.sample(range(1, newest + 1), 8)), newest]:
        history = (await ledger.get_history("s", version=version)).entries
        rows, start = [], 1
        while start is not None:
            page = await ledger.list_entries("s", from_version=start, limit=dice.randint(1, 9), version=version)
            rows += page.entries
            start = page.next_from
        assert [
            (row.entry_id, row.version, row.role, row.tokens, row.preview, row.length, row.edited_version, row.status)
            for row in rows
        ] == [
            (
                past.entry_id,
                past.version,
                past.role,
                past.tokens,
                past.content[:200],
                len(past.content),
                past.edited_version,
                past.status,
            )
            for past in history
        ]
        shown = {entry.version for entry in (await ledger.get_context("s", version=version)).entries}
        newest_of = {past.entry_id: past.version for past in history}
        for past, row in zip(history, rows, strict=True):
            if past.status in {"covered", "erased"}:
                assert set(row.summary_ids) <= set(past.summary_ids)
                assert bool(row.summary_ids) == (past.status == "covered")
            assert (row.left_version is None) == (past.status == "active")
            if newest_of[past.entry_id] != past.version:
                continue
            record = await ledger.get_entry("s", past.entry_id, version=version)
            assert (record.content, record.tokens, record.left_version) == (past.content, past.tokens, row.left_version)
            assert record.fate is not None
            expected = {"active": {"shown" if past.version in shown else "hidden"}}
            allowed = expected.get(past.status, {past.status, "evicted_summary"})
            assert record.fate.status in allowed, record.fate.sentence
            if record.left_version and record.fate.status != "evicted_summary":
                assert record.fate.version == record.left_version


async def test_why_an_entry_is_not_shown_is_one_sentence(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, actor="ann", config=SMALL)
    ledger.set_summarizer(None, lambda prompt: "short")
    for number in range(1, 7):
        await ledger.add_user_message("s", f"{number} " + "long " * 40, entry_id=f"m-{number}")
        await ledger.settle()
    completed = (await ledger.get_events("s", type="compaction.completed"))[0]
    name = completed.payload.summary_id
    newest = (await ledger.get_state("s")).version
    covered = (await ledger.get_entry("s", "m-1", version=newest)).fate
    assert (covered.status, covered.version, covered.summary_id) == ("covered", completed.version, name)
    assert covered.reasons == ("entries",)
    assert covered.sentence == f"Covered at version {completed.version} by {name}, because entries > 5."
    before = (await ledger.get_entry("s", "m-1", version=completed.version - 1)).fate
    assert (before.status, before.sentence) == (
        "shown",
        f"In the window at version {completed.version - 1}, as part of: history.",
    )
    later = await ledger.get_entry("s", "m-6", version=2)
    assert (later.status, later.fate.status, later.fate.version) == ("not_yet", "not_yet", later.version)
    await ledger.update_config("s", {"window": {"type": "rolling", "size": 1, "unit": "entry"}})
    newest += 1
    hidden = (await ledger.get_entry("s", "m-5", version=newest)).fate
    assert (hidden.status, hidden.version) == ("hidden", newest)
    assert hidden.sentence == f"Active, but the window 'rolling' of the config of version {newest} does not show it."
    await ledger.remove_entry("s", "m-6")
    removed = (await ledger.get_entry("s", "m-6", version=newest + 1)).fate
    assert (removed.status, removed.sentence) == ("removed", f"Removed at version {newest + 1} by ann.")
    await ledger.clear_session("s")
    cleared = await ledger.get_entry("s", "m-1", version=newest + 2)
    assert (cleared.status, cleared.fate.sentence) == ("cleared", f"Cleared at version {newest + 2} by ann.")
    assert (await ledger.get_entry("s", "m-1")).fate is None
    with pytest.raises(EntryNotFound):
        await ledger.get_entry("s", "m-7", version=3)
    with pytest.raises(VersionNotFound):
        await ledger.get_entry("s", "m-1", version=99)
    with pytest.raises(InvalidInput):
        await ledger.list_entries("s", from_version=0)


async def test_whole_entries_come_fifty_at_once(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", [{"role": "user", "content": "x" * 300}] * 60)
    page = await ledger.list_entries("s", full=True)
    assert (len(page.entries), page.next_from, page.entries[0].content) == (50, 52, "x" * 300)
    assert len((await ledger.list_entries("s")).entries[0].preview) == 200
    assert (await ledger.list_entries("s")).entries[0].content is None


async def test_the_version_at_which_a_summary_was_dropped_is_found(seed: int) -> None:
    ledger = await lived(ROLLING, seed, turns=15)
    handle, newest = ledger._handle, (await ledger.get_state("s")).version
    stream = handle.stream("s", None)
    gone = [each for each in (await ledger.timeline("s")).ended if each.cause == "evicted"]
    created = {each.summary_id: each.version for each in (await ledger.timeline("s")).summaries}
    assert gone
    for each in gone:
        assert (
            await entry_causes.dropped_at(handle, stream, each.summary_id, created[each.summary_id], newest)
            == each.version
        )


async def test_a_page_that_forgets_how_entries_left_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    ledger = ledger_over(InMemoryStore(), config=SMALL)
    ledger.set_summarizer(None, lambda prompt: "short")
    for number in range(12):
        await ledger.add_user_message("s", f"{number} " + "long " * 40)
        await ledger.settle()

    async def agrees() -> bool:
        rows, history = (await ledger.list_entries("s")).entries, (await ledger.get_history("s")).entries
        return [(row.status, row.summary_ids) for row in rows] == [(past.status, past.summary_ids) for past in history]

    assert await agrees()
    with monkeypatch.context() as forgetful:
        forgetful.setattr(entry_pages, "read_coverings", nothing)
        with pytest.raises(KeyError):
            await agrees()
    await ledger.clear_session("s")
    assert [row.status for row in (await ledger.list_entries("s")).entries] == ["cleared"] * 12
    monkeypatch.setattr(entry_pages, "read_clears", no_versions)
    assert [row.status for row in (await ledger.list_entries("s")).entries] != ["cleared"] * 12


async def nothing(*args: Any, **options: Any) -> dict[int, Any]:
    return {}


async def no_versions(*args: Any, **options: Any) -> list[int]:
    return []


async def test_a_covered_entry_that_a_search_brought_back_is_in_the_window() -> None:
    """viewer U-14: one cause, and it is that the model is shown it."""
    config = {
        "window": {"type": "recall", "max_tokens": 80},
        "compactions": [{"type": "token_threshold", "max_tokens": 60, "recent_window": 2, "max_summary_tokens": 20}],
    }
    ledger = ledger_over(InMemoryStore(), config=config)
    await ledger.add_entries("s", [{"role": "user", "content": "The peacock lives in the museum", "entry_id": "m"}])
    for at in range(12):
        await ledger.add_assistant_message("s", f"Something else, number {at}, about nothing in particular.")
        await ledger.settle()
    await ledger.add_user_message("s", "Where does the peacock live?")
    await ledger.settle()
    version = (await ledger.get_state("s")).version
    window = await ledger.get_window("s", version=version)
    found = await ledger.get_entry("s", entry_id="m", version=version)
    assert found.status == "covered"
    assert contains(window.recalled, found.version)
    assert found.fate is not None
    assert (found.fate.status, "recalled" in found.fate.sentence) == ("shown", True)
