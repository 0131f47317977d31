"""The window ``recall`` of a live session: searched before it is built. Source: R-REC-1, R-REC-4."""

from collections.abc import AsyncIterator

import pytest

from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.results import Context

RECALL = {"profile": "none", "window": {"type": "recall", "max_tokens": 60, "context_before": 0}}


@pytest.fixture
async def ledger(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    async with MemoryLedger.open(namespace=namespace, store=store, config=RECALL) as opened:
        yield opened


async def talk(ledger: MemoryLedger, *questions: str, session: str = "s") -> None:
    for question in questions:
        await ledger.add_user_message(session, question, tokens=10)
        await ledger.add_assistant_message(session, "ok", tokens=10)


def contents(context: Context) -> list[str]:
    return [entry.content for entry in context.entries]


FILLERS = [f"filler {number}" for number in range(12)]


async def test_the_newest_user_message_is_the_query(ledger: MemoryLedger) -> None:
    """R-REC-1: what was said long ago is shown again, before the newest, after a line of its own."""
    await talk(ledger, "the walnut is in the drawer", *FILLERS)
    await ledger.add_user_message("s", "where is the walnut?", tokens=10)
    context = await ledger.get_context("s")
    assert contents(context)[0] == "the walnut is in the drawer"
    assert contents(context)[-1] == "where is the walnut?"
    assert [version for version, _ in context.window.recalled] == [2]
    other = await ledger.get_context("s", query="filler 3")
    assert "filler 3" in contents(other)
    assert "the walnut is in the drawer" not in contents(other)
    assert "[…]" in other.text


async def test_the_newest_version_is_searched_as_now(ledger: MemoryLedger) -> None:
    """What is shown at the head is what is shown now, whichever way it is asked for."""
    await talk(ledger, "the walnut is in the drawer", *FILLERS)
    await ledger.add_user_message("s", "where is the walnut?", tokens=10)
    await ledger.add_user_message("other", "many a walnut " * 9, tokens=10)
    now = await ledger.get_context("s")
    assert (await ledger.get_context("s", version=now.version)).window == now.window
    assert (await ledger.seen("s")).text == now.text


async def test_a_window_of_the_past_has_the_weights_of_the_ledger(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one of now; the control has other weights."""

    async def lent(version: int | None) -> list[float]:
        async with MemoryLedger.open(namespace=namespace, store=store, config=RECALL) as ledger:
            context = await ledger.get_context("s", version=version, query="which walnut in the drawer")
            return [each.why.by_words.neighbours for each in context.recalled if each.why and each.why.by_words]

    async with MemoryLedger.open(namespace=namespace, store=store, config=RECALL) as ledger:
        await talk(ledger, "the walnut", "in the drawer", *FILLERS)
        past = (await ledger.get_state("s")).version
        await talk(ledger, "something else")
    assert any(await lent(past))
    assert any(await lent(None))
    monkeypatch.setenv("MEMORY_LEDGER_SEARCH_RANKING", '{"before": [0, 0, 0], "after": 0}')
    now, then = await lent(None), await lent(past)
    assert now
    assert then
    assert not any([*now, *then])


async def test_hits_of_other_sessions_and_of_earlier_lives_are_not_recalled(ledger: MemoryLedger) -> None:
    await talk(ledger, "a walnut elsewhere", session="t")
    await talk(ledger, "a walnut before the clear")
    await ledger.clear_session("s")
    await talk(ledger, "a walnut after it", *FILLERS)
    context = await ledger.get_context("s", query="walnut")
    assert [text for text in contents(context) if "walnut" in text] == ["a walnut after it"]


async def test_a_covered_entry_is_recalled_as_it_was_last_edited(store: Store, namespace: str) -> None:
    """R-REC-4."""
    compaction = {"type": "token_threshold", "max_entries": 6, "recent_window": 2, "min_entries_to_compress": 1}
    config = {**RECALL, "compactions": [compaction], "window": {**RECALL["window"], "max_tokens": 4_000}}
    async with MemoryLedger.open(namespace=namespace, store=store, config=config) as ledger:
        slip = await ledger.add_user_message("s", "the wallnut is in the drawer", tokens=400)
        await ledger.edit_entry("s", slip.entry_id, "the walnut is in the drawer")
        for number in range(8):
            await ledger.add_assistant_message("s", f"answer {number}", tokens=400)
            await ledger.settle()
        assert "the walnut is in the drawer" not in [entry.content for entry in await ledger.get_active_entries("s")]
        await ledger.add_user_message("s", "walnut?")
        assert "the walnut is in the drawer" in contents(await ledger.get_context("s"))


async def test_a_pair_far_apart_is_shown_together(ledger: MemoryLedger) -> None:
    """R-GEN-9: a late result is in the interaction of its call, however far behind it stands."""
    await ledger.add_user_message("s", "look it up", tokens=5)
    await ledger.add_tool_call("s", "vault", {"key": "walnut"}, tool_call_id="late", tokens=5)
    await talk(ledger, *(f"filler {number}" for number in range(40)))
    await ledger.add_tool_result("s", "vault", "found in the attic", tool_call_id="late", tokens=5)
    await talk(ledger, *(f"more {number}" for number in range(40)))
    for query in ("attic", "walnut"):
        context = await ledger.get_context("s", query=query)
        kinds = [entry.kind for entry in context.entries if entry.kind != "message"]
        assert kinds == ["tool_call", "tool_result"], query


async def test_a_past_window_is_searched_in_what_was_there_then(ledger: MemoryLedger) -> None:
    await talk(ledger, "the walnut is in the drawer", *FILLERS)
    version = (await ledger.get_state("s")).version
    await talk(ledger, "the walnut is in the attic", *FILLERS)
    await ledger.clear_session("s")
    then = await ledger.get_context("s", version=version, query="walnut")
    assert [text for text in contents(then) if "walnut" in text] == ["the walnut is in the drawer"]
    assert contents(await ledger.get_context("s", query="walnut")) == []


async def test_without_a_question_nothing_is_searched(ledger: MemoryLedger) -> None:
    """R-REC-5."""
    assert (await ledger.get_context("unknown")).entries == ()
    await ledger.add_assistant_message("s", "hello", tokens=10)
    assert contents(await ledger.get_context("s")) == ["hello"]


COVERING = {**RECALL, "compactions": [{"type": "token_threshold", "max_tokens": 100_000, "recent_window": 0}]}


async def test_an_entry_that_comes_back_stands_before_covered_ones_that_came_after_it(
    store: Store, namespace: str
) -> None:
    """R-CMP-12: a restore adds it again at the end, so those that a search brings back are added again behind it."""
    rule = {"kind": "message", "role": "system", "content": "no rule", "tokens": 5}
    async with MemoryLedger.open(namespace=namespace, store=store, config=COVERING) as ledger:
        (pinned,) = (await ledger.add_entries("s", [rule])).entries
        await talk(ledger, "the walnut is in the drawer")
        await ledger.compress("s", force=True)
        before = await ledger.get_context("s", query="walnut")
        assert contents(before)[:2] == ["no rule", "the walnut is in the drawer"]
        await ledger.remove_entry("s", pinned.entry_id)
        await ledger.restore("s", before.version)
        assert (await ledger.get_context("s", query="walnut")).text == before.text


async def test_a_covered_entry_comes_back_although_as_many_others_have_left_since(store: Store, namespace: str) -> None:
    """R-CMP-12: one that was covered is withdrawn and another one covered, so as many have left as before."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=COVERING) as ledger:
        await talk(ledger, "the walnut is in the drawer", "nothing")
        await ledger.compress("s", force=True)
        before = await ledger.get_context("s", query="nothing")
        await ledger.pop_entry("s")
        await ledger.pop_entry("s")
        await talk(ledger, "more")
        await ledger.compress("s", force=True)
        await ledger.restore("s", before.version)
        assert (await ledger.get_context("s", query="nothing")).text == before.text
