"""Seed 000 in Python: every method of its document exists, and its examples run in their order."""

import re

import pytest

from ledger.memory import MemoryLedger
from tests.application.conftest import SMALL

SHOWN = [
    "addUserMessage",
    "addAssistantMessage",
    "addToolCall",
    "addToolResult",
    "addContext",
    "setSummarizeCallback",
    "updateConfig",
    "exportSession",
    "importSession",
    "clearSession",
    "getContextForLLM",
    "getActiveEntries",
    "getStats",
    "on",
]
SPELLED = {"setSummarizeCallback": "set_summarizer", "getContextForLLM": "get_context_for_llm"}


@pytest.mark.parametrize("name", SHOWN)
def test_each_method_of_the_seed_has_its_own_in_python(name: str) -> None:
    method = getattr(MemoryLedger, SPELLED.get(name) or re.sub("([A-Z])", r"_\1", name).lower())
    assert method.__doc__


async def test_the_examples_of_the_seed_run(anywhere: MemoryLedger) -> None:
    session, answers = "session-1", []
    anywhere.on("entry:added", lambda session, entry: answers.append(f"New entry: {entry.kind}"))
    anywhere.on("compressed", lambda session, result: answers.append(f"saved {result.tokens_saved} tokens"))
    anywhere.on("session:cleared", lambda session: answers.append(f"Session cleared: {session}"))

    await anywhere.add_user_message(session, "Hello, how are you?")
    await anywhere.add_assistant_message(session, "I am doing well!")
    await anywhere.add_tool_call(session, "shell", {"command": "ls -la"})
    await anywhere.add_tool_result(session, "shell", "file1.txt\nfile2.txt")
    await anywhere.add_context(session, "const a = 1;", "src/main.ts")
    assert answers == [f"New entry: {kind}" for kind in ("message", "message", "tool_call", "tool_result", "context")]
    assert await anywhere.get_context_for_llm(session) == (
        "=== Recent Conversation ===\n"
        "User: Hello, how are you?\n"
        "Assistant: I am doing well!\n"
        'Tool Call (shell): shell({"command":"ls -la"})\n'
        "Tool Result (shell): file1.txt\nfile2.txt\n"
        "Context (src/main.ts): const a = 1;"
    )

    async def my_llm(prompt: str) -> str:
        return "User asked how I am."

    anywhere.set_summarizer(session, my_llm)
    config = (await anywhere.update_config(session, {"maxTokens": 100_000, "autoCompress": False})).config
    assert (config.compactions[0].max_tokens, config.compactions[0].auto_compress) == (100_000, False)  # type: ignore[attr-defined]

    state = await anywhere.export_session(session)
    await anywhere.import_session({**state, "sessionId": "restored-session"})
    restored = await anywhere.get_active_entries("restored-session")
    assert [entry.content for entry in restored] == [
        entry.content for entry in await anywhere.get_active_entries(session)
    ]

    await anywhere.update_config(session, {**SMALL, "recentWindow": 1})
    await anywhere.compress(session)
    stats = await anywhere.get_stats(session)
    assert (stats.total_entries, stats.active_entries, stats.compressed_entries, stats.summaries) == (5, 1, 4, 1)
    assert stats.total_tokens > stats.active_tokens > 0
    assert answers[-1] == f"saved {(await anywhere.get_summaries(session))[0].tokens_before - 6} tokens"

    await anywhere.clear_session(session)
    assert answers[-1] == "Session cleared: session-1"
    assert await anywhere.get_context_for_llm(session) == ""
