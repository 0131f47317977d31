"""Compressing, as seed 000 has it: when it happens, what remains, what a caller may choose. Source: R-000-1 … 12."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from ledger.errors import CompactionInProgress, CompactionNotCompleted, InvalidInput, NotEnoughEntries
from ledger.memory import MemoryLedger
from projections.stats import SessionStats
from tests.application.conftest import SMALL, contents, talk


def counted(stats: SessionStats) -> dict[str, int]:
    """Return the numbers of the seed's `getStats`."""
    names = ("total_entries", "active_entries", "compressed_entries", "summaries", "total_tokens", "active_tokens")
    return {name: getattr(stats, name) for name in names}


async def brief(prompt: str) -> str:
    await asyncio.sleep(0)
    return "They counted messages."


async def test_the_101st_entry_sends_the_first_91_into_a_summary__V_000_2(anywhere: MemoryLedger) -> None:
    anywhere.set_summarizer("s", brief)
    batch = [{"role": "user", "content": f"message {number}", "tokens": 10} for number in range(1, 101)]
    await anywhere.add_entries("s", batch)
    await anywhere.settle()
    assert await anywhere.get_summaries("s") == []
    await talk(anywhere, 1, first=101)
    (summary,) = await anywhere.get_summaries("s")
    assert (summary.text, summary.method, summary.tokens_before, summary.tokens) == (
        "They counted messages.",
        "callback",
        910,
        4,
    )
    assert summary.covered == ((2, 92),)
    assert summary.compression_ratio == 227.5
    assert await contents(anywhere) == [f"message {number}" for number in range(92, 102)]
    assert counted(await anywhere.get_stats("s")) == {
        "total_entries": 101,
        "active_entries": 10,
        "compressed_entries": 91,
        "summaries": 1,
        "total_tokens": 104,
        "active_tokens": 100,
    }


async def test_the_token_budget_sets_it_off_too(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", {"maxTokens": 100, "recentWindow": 3, "minEntriesToCompress": 2})
    await talk(anywhere, 10)
    assert (await anywhere.get_stats("s")).summaries == 0
    await talk(anywhere, 1, first=11)
    assert await contents(anywhere) == ["message 9", "message 10", "message 11"]


async def test_without_auto_compress_only_the_caller_compresses(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", {**SMALL, "autoCompress": False})
    await talk(anywhere, 12)
    assert (await anywhere.get_stats("s")).over_budget
    result = await anywhere.compress("s")
    assert (result.entries_compressed, result.tokens_before) == (10, 100)
    assert result.tokens_saved == 100 - result.tokens_after > 0
    assert result.summary is not None
    assert result.summary in await anywhere.get_summaries("s")
    assert (await anywhere.get_stats("s")).version == result.version
    with pytest.raises(NotEnoughEntries) as refused:
        await anywhere.compress("s")
    assert (refused.value.code, refused.value.eligible, refused.value.needed) == ("not_enough_entries", 0, 2)


async def test_force_does_with_a_single_entry(small: MemoryLedger) -> None:
    await talk(small, 2)
    await small.add_user_message("s", "three " * 100)
    with pytest.raises(NotEnoughEntries):
        await small.compress("s")
    await small.edit_entry("s", (await small.get_active_entries("s"))[0].entry_id, "one " * 100)
    result = await small.compress("s", force=True)
    assert result.entries_compressed == 1


async def test_the_context_is_summaries_then_what_is_active(anywhere: MemoryLedger) -> None:
    """V-000-13."""
    anywhere.set_summarizer("s", lambda prompt: "User discussed API design, created routes.")
    moment = datetime(2024, 1, 1, 20, tzinfo=UTC)
    for number in range(4):
        await anywhere.add_user_message("s", "What about /users? " * 9, created_at=moment + timedelta(hours=2 * number))
    await anywhere.update_config("s", {**SMALL, "recentWindow": 0})
    await anywhere.compress("s")
    await anywhere.add_user_message("s", "How do I add auth?")
    await anywhere.add_assistant_message("s", "You can use JWT.")
    assert await anywhere.get_context_for_llm("s") == (
        "=== Previous Conversation Summaries ===\n"
        "[2024-01-01 - 2024-01-02]\n"
        "User discussed API design, created routes.\n"
        "\n"
        "=== Recent Conversation ===\n"
        "User: How do I add auth?\n"
        "Assistant: You can use JWT."
    )
    context = await anywhere.get_context("s")
    assert [message["role"] for message in context.messages] == ["user", "user", "assistant"]
    assert context.messages[0]["content"].startswith("[Previous conversation summary]\nUser discussed")
    assert context.tokens == (await anywhere.get_stats("s")).total_tokens


async def test_without_a_model_the_summary_begins_as_the_seeds_does(anywhere: MemoryLedger) -> None:
    await anywhere.add_user_message("s", "Help me debug this API...", tokens=500)
    await anywhere.add_tool_call("s", "shell", {"command": "curl"}, tool_call_id="c1")
    await anywhere.add_tool_result("s", "shell", "Error: refused", tool_call_id="c1")
    await anywhere.add_user_message("s", "Thanks, that fixed it!")
    await anywhere.update_config("s", {"recentWindow": 0, "minEntriesToCompress": 1})
    await anywhere.compress("s")
    (summary,) = await anywhere.get_summaries("s")
    assert summary.text == (
        "[Previous conversation summary]\n"
        "2 user messages\n"
        'First: "Help me debug this API..."\n'
        'Last: "Thanks, that fixed it!"\n'
        "Tools used: shell\n"
        "1 error encountered\n"
        '[3] shell: ({"command":"curl"})\n'
        "[4] shell error: Error: refused\n"
        "[5] User: Thanks, that fixed it!"
    )


async def test_of_two_compressions_at_once_one_is_done__I_52(anywhere: MemoryLedger) -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(prompt: str) -> str:
        asked.set()
        await answer.wait()
        return "Short."

    anywhere.set_summarizer("s", slow)
    await anywhere.update_config("s", {**SMALL, "autoCompress": False})
    await talk(anywhere, 12)
    first = asyncio.create_task(anywhere.compress("s"))
    await asked.wait()
    with pytest.raises(CompactionInProgress) as refused:
        await anywhere.compress("s")
    assert refused.value.code == "compaction_in_progress"
    answer.set()
    assert (await first).entries_compressed == 10
    types = [event.type for event in await anywhere.get_events("s")]
    assert (types.count("compaction.requested"), types.count("compaction.completed")) == (1, 1)


async def test_a_failed_compression_is_reported_and_removes_nothing(small: MemoryLedger) -> None:
    small.set_summarizer("s", lambda prompt: " \n")
    await small.update_config("s", {"autoCompress": False})
    await talk(small, 6)
    with pytest.raises(CompactionNotCompleted) as failed:
        await small.compress("s")
    assert (failed.value.code, failed.value.reason) == ("compaction_failed", "empty")
    assert len(await contents(small)) == 6


async def test_what_is_added_while_a_summary_is_written_stays(small: MemoryLedger) -> None:
    """V-CMP-1."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(prompt: str) -> str:
        asked.set()
        await answer.wait()
        return "Late."

    small.set_summarizer("s", slow)
    for number in range(1, 7):
        await small.add_user_message("s", f"message {number}", tokens=10)
    await asked.wait()
    await small.add_user_message("s", "message 7", tokens=10)
    assert len(await contents(small)) == 7
    assert (await small.get_stats("s")).compactions_in_flight == 1
    answer.set()
    await small.settle("s")
    assert await contents(small) == ["message 5", "message 6", "message 7"]


async def test_settling_waits_for_one_session_or_for_all(small: MemoryLedger) -> None:
    gates = {name: asyncio.Event() for name in ("a", "b")}

    async def gated(name: str, prompt: str) -> str:
        await gates[name].wait()
        return "Short."

    for name in gates:
        small.set_summarizer(name, partial(gated, name))
        await small.add_entries(name, [{"role": "user", "content": "many words " * 20}] * 6)
    gates["a"].set()
    await asyncio.wait_for(small.settle("a"), 5)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(small.settle(), 0.05)
    assert [(await small.get_stats(name)).summaries for name in gates] == [1, 0]
    gates["b"].set()
    await small.settle()
    assert [(await small.get_stats(name)).summaries for name in gates] == [1, 1], "to give up waiting gives up nothing"
    await small.settle("nobody")


async def test_a_session_without_a_compaction_cannot_be_compressed(anywhere: MemoryLedger) -> None:
    await anywhere.update_config("s", {"profile": "none"})
    await talk(anywhere, 3)
    with pytest.raises(InvalidInput) as refused:
        await anywhere.compress("s")
    assert refused.value.code == "no_compaction"
