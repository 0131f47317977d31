"""What a request carries counts against limits: recorded with the entry, and seen by compactions. Source: R-TOK-8."""

from base64 import b64encode
from typing import Any

from ledger import MemoryLedger
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
