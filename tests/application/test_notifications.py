"""Notifications: entries added, compressed, cleared. Source: R-CMP-11."""

import asyncio
import logging
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from projections.entries import Entry
from tests.application.conftest import SMALL, talk


async def test_the_seeds_notifications_have_their_arguments(small: MemoryLedger) -> None:
    answers: list[tuple[Any, ...]] = []
    small.on("entry:added", lambda session, entry: answers.append(("added", session, entry.kind, entry.content)))
    small.on("compressed", lambda session, result: answers.append(("compressed", session, result.tokens_saved)))
    small.on("session:cleared", lambda session: answers.append(("cleared", session)))
    small.set_summarizer("s", lambda prompt: "Short.")
    await talk(small, 6)
    await small.clear_session("s")
    assert answers == [
        *(("added", "s", "message", f"message {number}") for number in range(1, 7)),
        ("compressed", "s", 38),
        ("cleared", "s"),
    ]


async def test_a_failing_summarizer_is_seen(small: MemoryLedger, caplog: pytest.LogCaptureFixture) -> None:
    """R-CMP-11: in the log, by a handler, and in the statistics, until it works again."""
    seen: list[tuple[str, str, str]] = []
    small.on("compaction:failed", lambda session, failed: seen.append((session, failed.key, failed.reason)))
    answers = iter([RuntimeError("down"), RuntimeError("down")])

    def summarize(prompt: str) -> str:
        if fault := next(answers, None):
            raise fault
        return "Short."

    small.set_summarizer("s", summarize)
    await talk(small, 6)
    stats = await small.get_stats("s")
    assert seen == [("s", "token_threshold", "error")]
    raised = "error: the summarizer raised RuntimeError"
    assert (stats.compactions, stats.failed_compactions, stats.last_failure) == (0, 1, raised)
    since = stats.failing_since
    assert since is not None
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "token_threshold" in record.getMessage()
    assert record.getMessage().endswith("failed: error"), "trust P-16: what was raised may say what was said"
    await talk(small, 1, first=7)
    stats = await small.get_stats("s")
    assert (stats.failed_compactions, stats.last_failure, stats.failing_since) == (2, raised, since)
    await talk(small, 2, first=8)
    stats = await small.get_stats("s")
    assert (stats.compactions, stats.failed_compactions, stats.last_failure) == (1, 0, None)
    assert stats.failing_since is None
    assert len(seen) == 2


async def test_a_model_in_whose_place_the_heuristic_writes_is_seen_to_fail(
    namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """R-CMP-11: its failures are counted until it works again, and no next attempt waits for them."""
    answers = iter([RuntimeError("down"), RuntimeError("down")])

    def summarize(prompt: str) -> str:
        if fault := next(answers, None):
            raise fault
        return "Short."

    config = {**SMALL, "onFailure": "heuristic"}
    async with MemoryLedger.open(
        namespace=namespace, store=InMemoryStore(), config=config, summarizer=summarize
    ) as ledger:
        seen = []
        for first in (1, 7, 13):
            await talk(ledger, 6, first=first)
            stats = await ledger.get_stats("s")
            seen.append((stats.compactions, stats.failed_compactions, stats.last_failure))
    raised = "error: the summarizer raised RuntimeError"
    # R-CMP-8: what was added while the third attempt ran is due at its end
    assert seen == [(1, 1, raised), (2, 2, raised), (4, 0, None)]
    by = "by the extractive summarizer: error"  # trust P-16: what was raised may say what was said
    assert [record.levelno for record in caplog.records if by in record.getMessage()] == [logging.WARNING] * 2


async def test_a_notification_follows_the_append(anywhere: MemoryLedger) -> None:
    seen: list[bool] = []

    async def read(session: str, entry: Entry) -> None:
        seen.append(any(event.version == entry.version for event in await anywhere.get_events(session)))

    anywhere.on("entry:added", read)
    await anywhere.add_entries("s", [{"role": "user", "content": str(number)} for number in range(3)])
    await anywhere._handle.services.notifications.settle()
    assert seen == [True] * 3


async def test_a_result_tells_what_was_saved(small: MemoryLedger) -> None:
    results: list[Any] = []
    small.on("compressed", lambda session, result: results.append(result))
    await small.add_entries("s", [{"role": "user", "content": "many words " * 50}] * 6)
    await small.settle()
    (result,) = results
    (summary,) = await small.get_summaries("s")
    assert (result.summary, result.entries_compressed) == (summary, 4)
    assert (result.tokens_before, result.tokens_after) == (summary.tokens_before, summary.tokens)
    assert result.tokens_saved == summary.tokens_before - summary.tokens


async def test_only_new_entries_are_notified(anywhere: MemoryLedger) -> None:
    answers: list[str] = []
    anywhere.on("entry:added", lambda session, entry: answers.append(entry.entry_id))
    anywhere.on("session:cleared", lambda session: answers.append("cleared"))
    for _ in range(2):
        await anywhere.add_user_message("s", "hello", entry_id="e-1")
        await anywhere.add_user_message("s", "again", entry_id="e-2", idempotency_key="k")
    with pytest.raises(InvalidInput):
        await anywhere.add_user_message("s", "")
    await anywhere.clear_session("nobody")
    assert answers == ["e-1", "e-2"]


async def test_a_handler_is_called_until_it_is_removed(anywhere: MemoryLedger) -> None:
    answers: list[str] = []

    def handler(session: str, entry: Entry) -> None:
        answers.append(entry.content)

    first, second = anywhere.on("entry:added", handler), anywhere.on("entry:added", handler)
    await talk(anywhere, 1)
    first()
    first()
    await talk(anywhere, 1, first=2)
    second()
    await talk(anywhere, 1, first=3)
    assert answers == ["message 1", "message 1", "message 2"]


async def test_a_handler_that_fails_is_logged_and_affects_no_other(
    anywhere: MemoryLedger, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[str] = []

    def broken(session: str, entry: Entry) -> None:
        raise RuntimeError("no")

    async def broken_later(session: str, entry: Entry) -> None:
        raise RuntimeError("no, later")

    for handler in (broken, broken_later, lambda session, entry: answers.append(entry.content)):
        anywhere.on("entry:added", handler)
    with caplog.at_level(logging.ERROR, logger="ledger"):
        await talk(anywhere, 2)
        await asyncio.sleep(0.01)
    assert answers == ["message 1", "message 2"]
    assert [record.message for record in caplog.records].count("a handler of entry:added failed") == 2
    assert [record.message for record in caplog.records].count("a handler failed") == 2
    assert "message 1" not in caplog.text, "P-16: logs say nothing of what was said"


async def test_closing_waits_for_handlers(namespace: str) -> None:
    answers: list[str] = []

    async def slow(session: str) -> None:
        await asyncio.sleep(0.05)
        answers.append(session)

    async with MemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=SMALL) as ledger:
        ledger.on("session:cleared", slow)
        await talk(ledger, 1)
        await ledger.clear_session("s")
        assert answers == []
    assert answers == ["s"]


async def test_a_handler_may_itself_write(anywhere: MemoryLedger) -> None:
    async def answer(session: str, entry: Entry) -> None:
        if entry.role == "user":
            await anywhere.add_assistant_message(session, f"to {entry.content}")

    anywhere.on("entry:added", answer)
    await anywhere.add_user_message("s", "hello")
    await anywhere._handle.services.notifications.settle()
    assert [entry.content for entry in await anywhere.get_active_entries("s")] == ["hello", "to hello"]


async def test_a_handler_may_use_the_ledger_while_it_is_being_closed(namespace: str) -> None:
    store = InMemoryStore()

    async def late(session: str) -> None:
        await asyncio.sleep(0.02)
        await ledger.add_user_message("log", f"{session} was cleared")

    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        ledger.on("session:cleared", late)
        await talk(ledger, 1)
        await ledger.clear_session("s")
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        assert [entry.content for entry in await ledger.get_active_entries("log")] == ["s was cleared"]
