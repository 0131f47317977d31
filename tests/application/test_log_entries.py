"""The log with its hashes, one entry's history, and reads against a replay (http W-65, W-67, trust P-8)."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from ledger.errors import EntryCovered, EntryNotFound, InvalidInput, SessionNotFound
from ledger.history import log_page
from ledger.memory import MemoryLedger
from ledger.stores.in_memory.event_store import InMemoryEventStore
from ledger.verification import VerifyReport
from projections.log.history import PastEntryStatus
from projections.memory_config.budget import budget_of
from projections.token_limits import fitted, hidden
from tests.application.conftest import SMALL, talk


async def test_the_log_is_read_in_pages_by_type_and_with_its_chain(anywhere: MemoryLedger) -> None:
    await talk(anywhere, 4)
    await anywhere.clear_session("s")
    whole = await anywhere.get_log("s")
    assert ([event.version for event in whole.events], whole.next_after, whole.version) == ([1, 2, 3, 4, 5, 6], None, 6)
    assert [event.previous_hash for event in whole.events] == ["00" * 32, *(event.hash for event in whole.events[:-1])]
    part = await anywhere.get_log("s", after_version=2, limit=2)
    assert (part.events, part.next_after) == (whole.events[2:4], 4)
    only = await anywhere.get_log("s", type="session.cleared")
    assert (only.events, only.next_after) == (whole.events[5:], None)
    beyond = await anywhere.get_log("s", after_version=9)
    assert (beyond.events, beyond.next_after) == ((), None)
    with pytest.raises(SessionNotFound):
        await anywhere.get_log("nobody")
    with pytest.raises(InvalidInput):
        await anywhere.get_log("s", limit=0)


async def test_pages_go_backwards_and_are_full_or_the_last(
    anywhere: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_page, "_FIRST_LOOK", 2)
    await talk(anywhere, 5)
    await anywhere.patch_data("s", {"a": 1})
    await talk(anywhere, 2)
    whole = (await anywhere.get_log("s")).events
    both = ["data.changed", "session.opened"]

    async def pages(name: str, **wanted: Any) -> list[list[int]]:
        found, place = [], {"before": 99, "after": 0}[name]
        while place is not None:
            page = await anywhere.get_log("s", **{f"{name}_version": place}, limit=2, **wanted)
            assert all(event == whole[event.version - 1] for event in page.events)
            found.append([event.version for event in page.events])
            place = getattr(page, f"next_{name}")
        return found

    assert await pages("before") == [[9, 8], [7, 6], [5, 4], [3, 2], [1]]
    assert await pages("before", type="entry.added") == [[9, 8], [6, 5], [4, 3], [2]]
    assert await pages("after", type="entry.added") == [[2, 3], [4, 5], [6, 8], [9]]
    assert await pages("before", type=both) == [[7, 1]]
    assert await pages("after", type=both) == [[1, 7]]
    assert await pages("before", type="no.such") == [[]]
    assert await pages("before", actor="nobody") == [[]]
    assert await pages("after", actor="") == [[1, 2], [3, 4], [5, 6], [7, 8], [9]]
    between = await anywhere.get_log("s", after_version=2, before_version=5)
    assert ([event.version for event in between.events], between.next_before, between.version) == ([4, 3], None, 9)
    for wrong in ({"before_version": 0}, {"actor": "a\nb"}, {"type": ["no such type"]}):
        with pytest.raises(InvalidInput):
            await anywhere.get_log("s", **wrong)


async def test_each_event_has_a_line_of_text_and_the_state_of_its_link(small: MemoryLedger) -> None:
    await small.add_user_message("s", "m" * 400)
    await small.add_user_message("s", "two")
    events = small._handle.services.store.events
    assert isinstance(events, InMemoryEventStore)
    before = (await small.get_log("s")).events
    assert [event.link for event in before] == ["first", "ok", "ok"]
    assert (before[1].text[:14], len(before[1].text)) == ("user message, ", 300)
    (stored,) = events._namespaces[small._handle.namespace_id].streams.values()
    stored[1] = replace(stored[1], content=stored[1].content.replace(b"mm", b"MM"))
    assert [event.link for event in (await small.get_log("s")).events] == ["first", "broken", "ok"]
    stored[1] = replace(stored[1], structure=b"{", content=None, content_digest=None, codec=0, hash=bytes(32))
    broken = (await small.get_log("s", before_version=9)).events
    assert [(event.version, event.link) for event in broken] == [(3, "broken"), (2, "broken"), (1, "first")]
    assert (broken[1].payload, "cannot be read" in broken[1].text) == ({}, True)


async def test_a_namespace_is_read_in_position_order_with_whose_events_they_are(anywhere: MemoryLedger) -> None:
    await anywhere.add_user_message("one", "a", user_id="alice")
    await anywhere.add_user_message("two", "b")
    await anywhere.add_user_message("one", "c", user_id="alice")
    feed = await anywhere.get_feed()
    assert [event.position for event in feed] == [1, 2, 3, 4, 5]
    assert [(event.user_id, event.session_id, event.version) for event in feed][-2:] == [
        ("", "two", 2),
        ("alice", "one", 3),
    ]
    last = (await anywhere.get_feed(after=4))[0]
    assert last == feed[-1], "its link is read though the event before is in no page"
    assert last.previous_hash == feed[1].hash


async def test_an_entry_is_followed_to_where_it_went(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", SMALL)
    await talk(anywhere, 6)
    entries = (await anywhere.get_history("s")).entries
    first, last = entries[0].entry_id, entries[-1].entry_id
    await anywhere.edit_entry("s", last, "another text")

    async def fates() -> Sequence[PastEntryStatus]:
        return [(await anywhere.get_entry("s", name)).status for name in (first, last)]

    assert await fates() == ["covered", "active"]
    for refused in (anywhere.edit_entry("s", first, "another text"), anywhere.remove_entry("s", first)):
        with pytest.raises(EntryCovered, match="a summary stands for entry"):
            await refused
    record = await anywhere.get_entry("s", last)
    assert [(item.type, item.content) for item in record.history] == [
        ("entry.added", "message 6"),
        ("entry.edited", "another text"),
    ]
    assert len((await anywhere.get_entry("s", first)).summary_ids) == 1
    await anywhere.remove_entry("s", last)
    assert await fates() == ["covered", "removed"]
    await anywhere.clear_session("s")
    assert await fates() == ["cleared", "removed"]
    with pytest.raises(EntryNotFound):
        await anywhere.get_entry("s", "m-404")


async def test_reads_equal_a_replay_and_a_difference_is_reported(small: MemoryLedger) -> None:
    await talk(small, 8)
    assert await small.matches_replay("s")
    states = small._handle.services.states
    (key,) = states._cache._cached
    cached = states._cache._cached[key]
    states._cache._cached[key] = replace(cached, state=replace(cached.state, writes=99))
    assert not await small.matches_replay("s"), "negative control"
    report: VerifyReport = await small.verify("s")
    assert report.ok, "the log itself is as it was written"


async def test_a_window_is_cut_by_whole_units_and_keeps_one(small: MemoryLedger) -> None:
    """http W-43."""
    await small.add_user_message("s", "a", tokens=10)
    await small.add_tool_call("s", "t", {}, tool_call_id="c", tokens=10)
    await small.add_tool_result("s", "t", "r", tool_call_id="c", tokens=10)
    await small.add_assistant_message("s", "b", tokens=10)
    context = await small.get_context("s")
    window = context.window
    stored = {limit: [entry.content for entry in fitted(window, limit).entries] for limit in (40, 39, 29, 10, 1)}
    assert stored[40] == ["a", "t({})", "r", "b"]
    assert stored[39] == ["t({})", "r", "b"]
    assert stored[29] == stored[10] == stored[1] == ["b"], "no result without its call"
    assert fitted(window, None) is fitted(window, 0) is window
    assert hidden(fitted(window, 29), (await small.get_state("s")).window.entries) == 3
    budgets = [budget_of(fitted(window, limit), context.config) for limit in (40, 39, 1)]
    assert [(budget.tokens, budget.limit) for budget in budgets] == [(40, 40), (30, 39), (10, 1)]
    assert [budget.excess for budget in budgets] == [0, 0, 9]
