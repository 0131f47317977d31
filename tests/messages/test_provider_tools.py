"""What tools that Anthropic runs were asked and gave goes back in the answer, as it came. Source: adapters PM-3."""

from typing import Any

import pytest

from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.messages.test_round_trips import shown
from tests.support.ledgers import ledger_over
from tests.support.request_rules import faults_of_anthropic

TEXT = {"type": "text", "text": "I look."}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
FOUND = {"type": "web_search_result", "url": "https://e.example", "title": "t", "encrypted_content": "x" * 900}
RAN = {"type": "bash_code_execution_result", "stdout": "3", "stderr": "", "return_code": 0, "content": []}
FAILED = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
PAGE = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" * 200}}


def tool(number: int, kind: str, content: Any, **result: Any) -> list[dict[str, Any]]:
    """Return what the tool was asked, and what it gave."""
    asked, of = ("mcp_tool_use", {"server_name": "garden"}) if kind == "mcp" else ("server_tool_use", {})
    call = {"type": asked, "id": f"srv_{number}", "name": kind, "input": {"query": "leek"}, **of}
    return [call, {"type": f"{kind}_tool_result", "tool_use_id": f"srv_{number}", "content": content, **result}]


def answered(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "Go."}]}, {"role": "assistant", "content": [*blocks]}]


OWN = {"type": "tool_use", "id": "own", "name": "dig", "input": {}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "own", "content": "dug"}]}
CASES = {
    "search": answered(TEXT, *tool(1, "web_search", [FOUND]), {"type": "text", "text": "March."}),
    "refused": answered(*tool(1, "web_search", FAILED), TEXT),
    "code": answered(*tool(1, "bash_code_execution", RAN), *tool(2, "bash_code_execution", RAN), TEXT),
    "fetch": answered(*tool(1, "web_fetch", {"type": "web_fetch_result", "url": "https://e", "content": PAGE}), TEXT),
    "mcp": answered(*tool(1, "mcp", [{"type": "text", "text": "no"}, PAGE], is_error=True), TEXT),
    "in a tool loop": [*answered(THOUGHT, TEXT, *tool(1, "web_search", [FOUND]), THOUGHT, TEXT, OWN), RESULT],
    "beside a tool": [*answered(OWN, *tool(1, "web_search", [FOUND])), RESULT],
}


@pytest.fixture
def ledger() -> MemoryLedger:
    return ledger_over(InMemoryStore())


@pytest.mark.parametrize("messages", CASES.values(), ids=CASES)
async def test_they_come_back_as_they_were(ledger: MemoryLedger, messages: list[dict[str, Any]]) -> None:
    context, attachments = await shown(ledger, messages)
    request = context.as_anthropic(attachments)
    assert request["messages"] == messages
    assert faults_of_anthropic(request) == []


async def test_an_edited_result_is_shown_as_one_of_a_tool_of_ones_own(ledger: MemoryLedger) -> None:
    await shown(ledger, CASES["search"])
    (result,) = [entry for entry in await ledger.get_active_entries("s") if entry.kind == "tool_result"]
    await ledger.edit_entry("s", result.entry_id, "gone")
    request = (await ledger.get_context("s")).as_anthropic()
    assert "web_search_tool_result" not in str(request)
    assert "gone" in str(request)
    assert faults_of_anthropic(request) == []


async def test_a_call_that_waits_has_a_result_that_says_so(ledger: MemoryLedger) -> None:
    await shown(ledger, answered(tool(1, "web_search", [FOUND])[0]))
    request = (await ledger.get_context("s")).as_anthropic()
    assert "no result" in str(request)
    assert faults_of_anthropic(request) == []
