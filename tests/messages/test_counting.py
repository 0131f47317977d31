"""What a request carries counts against limits: recorded with the entry, and seen by compactions. Source: R-TOK-8."""

from base64 import b64encode
from typing import Any

import pytest

from ledger import InvalidInput, MemoryLedger, tool_tokens
from ledger.llm import tokenizers
from tests.support.carried import png


def screen(number: int, width: int = 1024, height: int = 768) -> list[dict[str, Any]]:
    data = b64encode(png(width, height).ljust(2_000, bytes([number + 1]))).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    asked = [{"type": "text", "text": f"Screenshot {number}, what is next?"}, {"type": "image", "source": source}]
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": f"Click button {number}."}]


async def test_screenshots_count_and_are_compacted(ledger: MemoryLedger) -> None:
    config = {"compactions": [{"type": "token_threshold", "max_tokens": 4000, "recent_window": 4}]}
    for number in range(20):
        await ledger.add_messages("s", screen(number), config=config if number == 0 else None)
        await ledger.settle("s")
    context = await ledger.get_context("s")
    assert len(await ledger.get_summaries("s")) > 0
    shown = [entry for entry in context.entries if entry.role == "user"]
    assert all(entry.tokens > 1024 * 768 // 750 and entry.tokenizer == "o200k_base+request" for entry in shown)
    assert context.budget.history + context.budget.current_turn >= 1_049 * len(shown)


async def test_an_edited_message_counts_its_text_alone(ledger: MemoryLedger) -> None:
    await ledger.add_messages("s", screen(1))
    shown = (await ledger.get_context("s")).entries[0]
    await ledger.edit_entry("s", shown.entry_id, "Hello, how are you?")
    entries = (await ledger.get_context("s")).entries
    assert (entries[0].tokens, entries[0].tokenizer) == (6, "o200k_base")


async def test_a_what_if_counts_again_without_the_bytes(ledger: MemoryLedger) -> None:
    await ledger.add_messages("s", screen(1))
    recorded = (await ledger.get_context("s")).tokens
    again = await ledger.what_if("s", {"profile": "none"}, recount=True)
    assert again.window.tokens == recorded > 1_049


async def test_the_parts_of_a_budget_follow(ledger: MemoryLedger) -> None:
    config = {"window": {"type": "max_tokens", "memory_max_tokens": 1_500}}
    await ledger.add_messages("s", [*screen(1), *screen(2), *screen(3)], config=config)
    context = await ledger.get_context("s")
    users = [entry for entry in context.window.items if getattr(entry, "role", "") == "user"]
    assert len(users) < 3, "three screenshots are over 1,500 tokens"


TOOLS = [
    {"name": f"tool_{number}", "description": "Return what was asked for. " * 20, "input_schema": {"type": "object"}}
    for number in range(10)
]


async def test_schemas_of_tools_that_the_caller_names_make_compactions_earlier__R_CFG_11(ledger: MemoryLedger) -> None:
    limit = {"type": "token_threshold", "max_tokens": 4_000, "recent_window": 2, "min_entries_to_compress": 2}
    config = {"compactions": [limit]}
    for session in ("plain", "reserved"):
        own = config if session == "plain" else {**config, "reserve_tokens": tool_tokens(TOOLS)}
        for number in range(3):
            await ledger.add_messages(session, screen(number), config=own if number == 0 else None)
            await ledger.settle(session)
    assert tool_tokens(TOOLS) > 1_000
    assert not await ledger.get_summaries("plain")
    assert await ledger.get_summaries("reserved")
    assert (await ledger.get_context("reserved")).budget.limit == 4_000 - tool_tokens(TOOLS)


async def test_input_tokens_that_a_model_reports_have_the_tools_already__R_CFG_11(ledger: MemoryLedger) -> None:
    erase = {"type": "neuralyzer", "input_tokens_threshold": 4_000}
    config = {"compactions": [erase], "reserve_tokens": 1_000}
    for session, reported in (("below", 3_900), ("above", 4_100)):
        await ledger.add_messages(session, [{"role": "user", "content": "Hello."}], config=config)
        usage = {"usage": {"input_tokens": reported}}
        await ledger.add_assistant_message(session, "Hello yourself.", metadata=usage)
    assert (await ledger.get_context("below")).entries
    assert not (await ledger.get_context("above")).entries


async def test_what_if_reserves_too(ledger: MemoryLedger) -> None:
    await ledger.add_messages("s", [*screen(1), *screen(2), *screen(3)])
    window = {"window": {"type": "max_tokens", "memory_max_tokens": 3_500}}
    found = [await ledger.what_if("s", {**window, "reserve_tokens": reserve}) for reserve in (0, 2_000)]
    assert found[0].window.tokens > found[1].window.tokens


async def test_entries_that_an_older_release_counted_are_named(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(tokenizers, "counted_parts", lambda _: None)
        await ledger.add_messages("s", screen(1))
    await ledger.add_messages("s", screen(2))
    context = await ledger.get_context("s")
    assert [entry.tokenizer for entry in context.entries] == 2 * ["o200k_base"] + ["o200k_base+request", "o200k_base"]
    assert context.counted_by_text == (context.entries[0].version,)
    again = await ledger.what_if("s", recount=True)
    assert again.window.tokens > context.tokens + 1_000


def test_tools_that_are_no_json_are_refused() -> None:
    with pytest.raises(InvalidInput):
        tool_tokens([object()])
    with pytest.raises(InvalidInput):
        tool_tokens([], tokenizer="none")
