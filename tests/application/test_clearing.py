"""Clear a session: window and summaries are empty, history and config stay. Source: R-000-14, R-CMP-5."""

import asyncio

import pytest

from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.ports import Store
from projections.stats import SessionStats
from tests.application.conftest import SMALL, contents, talk
from tests.support.ledgers import ledger_over


async def test_a_cleared_session_is_empty_and_its_history_is_not(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 6)
    before = (await anywhere.get_state("s")).version
    assert await anywhere.clear_session("s") == before + 1
    assert await contents(anywhere) == []
    assert await anywhere.get_summaries("s") == []
    assert await anywhere.get_context_for_llm("s") == ""
    assert (await anywhere.get_context("s")).messages == []
    stats = await anywhere.get_stats("s")
    times = {"created_at": stats.created_at, "updated_at": stats.updated_at}
    assert stats == SessionStats(version=before + 1, writes=(await anywhere.get_state("s")).writes, **times)
    history = await anywhere.get_history("s")
    assert [past.status for past in history.entries] == ["cleared"] * 6
    assert len(history.summaries) == 1
    assert "message 6" in await anywhere.get_context_for_llm("s", version=before)


@pytest.mark.parametrize("own_id", [None, "mine"])
@pytest.mark.parametrize("batch", [1, 12])
async def test_an_entry_added_by_a_process_that_has_not_heard_of_the_end_starts_a_new_life__R_3(
    store: Store, namespace: str, own_id: str | None, batch: int
) -> None:
    """Otherwise it would lie between two lives, and the next opening would remove it from the window."""
    stale, other = (ledger_over(store, namespace=namespace) for _ in range(2))
    await stale.add_user_message("s", "old")
    await other.clear_session("s", end=True)
    drafts = [{"role": "user", "content": f"new {number}"} for number in range(batch)]
    if own_id is not None:
        drafts[0]["entry_id"] = own_id
    await stale.add_entries("s", drafts)
    await stale.add_user_message("s", "newer")
    expected = [*(f"new {number}" for number in range(batch)), "newer"]
    for reader in (stale, other, ledger_over(store, namespace=namespace)):
        assert [entry.content for entry in await reader.get_active_entries("s")] == expected
    types = [event.type for event in await other.get_events("s")]
    assert types[2:4] == ["session.cleared", "session.opened"]


async def test_the_config_outlives_a_clear(anywhere: MemoryLedger) -> None:
    changed = (await anywhere.update_config("s", {**SMALL, "maxTokens": 77})).config
    await talk(anywhere, 1)
    await anywhere.clear_session("s")
    await talk(anywhere, 1)
    assert (await anywhere.get_state("s")).config == changed


async def test_clearing_what_is_empty_or_unknown_is_no_event(anywhere: MemoryLedger, namespace: str) -> None:
    assert await anywhere.clear_session("nobody") == 0
    assert await anywhere.clear_session("nobody", end=True) == 0
    assert await anywhere._handle.services.store.events.overview(namespace_id(namespace)) is None
    await talk(anywhere, 1)
    assert [await anywhere.clear_session("s") for _ in range(3)] == [3, 3, 3]


async def test_after_a_clear_counting_starts_again_and_ids_are_free(anywhere: MemoryLedger) -> None:
    await anywhere.add_user_message("s", "before", entry_id="e-1")
    await anywhere.clear_session("s")
    added = await anywhere.add_user_message("s", "after", entry_id="e-1")
    assert (added.known, added.version) == (False, 4)
    assert (await anywhere.get_stats("s")).total_entries == 1


async def test_an_end_closes_the_life_and_the_next_entry_starts_another(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", {**SMALL, "maxTokens": 77})
    await talk(anywhere, 1)
    assert await anywhere.clear_session("s", end=True) == 3
    assert [row.status for row in await anywhere.list_sessions()] == ["ended"]
    assert await anywhere.clear_session("s", end=True) == 3
    await talk(anywhere, 1)
    types = [event.type for event in await anywhere.get_events("s")]
    assert types == ["session.opened", "entry.added", "session.cleared", "session.opened", "entry.added"]
    state = await anywhere.get_state("s")
    assert state.config.compactions[0].max_tokens == 50_000, "a new life begins with the ledger's config"
    assert [row.status for row in await anywhere.list_sessions()] == ["live"]


async def test_an_empty_session_can_still_be_ended(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", {"maxTokens": 77})
    assert await anywhere.clear_session("s") == 1
    assert await anywhere.clear_session("s", end=True) == 2


async def test_a_summary_that_arrives_after_a_clear_is_discarded__V_CMP_2(small: MemoryLedger) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(prompt: str) -> str:
        asked.set()
        await answer.wait()
        return "Late."

    small.set_summarizer("s", slow)
    await small.add_entries("s", [{"role": "user", "content": "many words " * 20}] * 6)
    await asked.wait()
    await small.clear_session("s")
    answer.set()
    await small.settle()
    last = (await small.get_events("s"))[-1].payload
    assert (last.type, last.reason) == ("compaction.discarded", "cleared")
    assert await small.get_context_for_llm("s") == ""


async def test_a_clear_reaches_only_its_own_session(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 1)
    await talk(anywhere, 1, session="other")
    await anywhere.add_user_message("s", "mine", user_id="judith")
    await anywhere.clear_session("s")
    assert await contents(anywhere, "other") == ["message 1"]
    assert len(await anywhere.get_active_entries("s", user_id="judith")) == 1
