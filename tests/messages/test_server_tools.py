"""Tools that the provider runs are part of the answer, and go back whole. Source: R-GEN-8, R-WIN-3."""

from typing import Any

import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "pump 7"}}
PAGE = {"type": "web_search_result", "url": "https://a.example", "title": "Pumps", "encrypted_content": "ZW5j"}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]}
FAILED = {**FOUND, "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}}
RAN = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "look", "server_name": "pumps", "input": {"at": 7}}
SEEN = {
    "type": "mcp_tool_result",
    "tool_use_id": "mcptoolu_1",
    "is_error": True,
    "content": "no",
}
THINKING = {"type": "thinking", "thinking": "I search.", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "open", "input": {"pump": 7}}
QUESTION = {"role": "user", "content": "Why does pump 7 stop?"}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    "blocks",
    [
        [THINKING, SEARCH, FOUND, said("It is stuck.")],
        [said("I look."), SEARCH, FAILED, said("I could not.")],
        [RAN, SEEN, said("Nothing."), CALL],
        [THINKING, said("I look."), SEARCH, FOUND, RAN, SEEN, THINKING, said("So."), CALL],
        [SEARCH, FOUND],
        [CALL, SEARCH, FOUND, said("Both.")],
    ],
    ids=["thinking", "error", "mcp", "everything", "only", "mixed"],
)
async def test_an_answer_with_tools_of_the_provider_goes_back_as_it_was(blocks: list[dict[str, Any]]) -> None:
    ledger = ledger_over(InMemoryStore())
    await ledger.add_messages("s", [QUESTION, {"role": "assistant", "content": blocks}])
    request = (await ledger.get_context("s")).as_anthropic()
    assert request["messages"][1] == {"role": "assistant", "content": blocks}
    await ledger.remove_entry("s", (await ledger.get_active_entries("s"))[-1].entry_id)
    assert [entry.role for entry in await ledger.get_active_entries("s")] == ["user"], "it is one unit"


async def test_what_comes_after_such_a_result_is_a_chat_message_of_its_own() -> None:
    ledger = ledger_over(InMemoryStore())
    await ledger.add_messages("s", [QUESTION, {"role": "assistant", "content": [SEARCH, FOUND, said("It is stuck.")]}])
    messages = (await ledger.get_context("s")).messages
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[-1]["content"] == "It is stuck."


async def test_a_search_whose_result_was_edited_is_a_call_of_the_callers() -> None:
    ledger = ledger_over(InMemoryStore())
    await ledger.add_messages("s", [QUESTION, {"role": "assistant", "content": [SEARCH, FOUND, said("It is stuck.")]}])
    found = next(entry for entry in await ledger.get_active_entries("s") if entry.kind == "tool_result")
    await ledger.edit_entry("s", found.entry_id, "nothing")
    request = (await ledger.get_context("s")).as_anthropic()
    kinds = [[block["type"] for block in message["content"]] for message in request["messages"]]
    assert kinds == [["text"], ["tool_use"], ["tool_result"], ["text"]]
