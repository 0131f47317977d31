"""What an entry holds beside its text is shown only if the text says the same. Source: adapters PM-3."""

from itertools import product
from typing import Any

import pytest

from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over
from tests.support.messages import RESPONSES
from tests.support.request_rules import faults_of_anthropic, faults_of_chat, faults_of_responses

VALUES: list[Any] = [
    "x",
    7,
    [1],
    [{"text": "x"}],
    [{"type": ["text"]}],
    {"sku": 1},
    {"type": "message", "role": "user"},
]
KEYS = ("content", "item", "thinking", "reasoning")


@pytest.fixture
def ledger() -> MemoryLedger:
    return ledger_over(InMemoryStore())


async def test_data_of_a_program_is_not_taken_for_parts(ledger: MemoryLedger) -> None:
    for number, (key, value) in enumerate(product(KEYS, VALUES)):
        data = {key: value}
        await ledger.add_entries(
            "s",
            [
                {"role": "user", "content": f"question {number}", "data": data},
                {"kind": "tool_call", "tool_name": "look", "arguments": {}, "tool_call_id": f"c{number}", "data": data},
                {"role": "tool", "tool_call_id": f"c{number}", "content": "found", "data": data},
                {"role": "assistant", "content": f"answer {number}", "data": data},
            ],
        )
    await ledger.update_config("s", {"profile": "none"}, replace=True)
    context = await ledger.get_context("s")
    chat, responses, anthropic = context.as_openai(), context.as_responses(), context.as_anthropic()
    assert (faults_of_chat(chat), faults_of_responses(responses), faults_of_anthropic(anthropic)) == ([], [], [])
    assert [each["content"] for each in chat["messages"] if each["role"] == "user"][3] == "question 3"
    assert [each for each in responses["input"] if each.get("role") == "assistant"][5]["content"] == "answer 5"
    assert anthropic["messages"][0]["content"] == [{"type": "text", "text": "question 0"}]


async def test_a_message_with_odd_parts_is_shown_as_its_text(ledger: MemoryLedger) -> None:
    odd: list[Any] = [{"text": "a"}, {"type": ["text"]}, "b"]
    await ledger.add_messages("s", [{"role": "user", "content": odd}])
    context = await ledger.get_context("s")
    text = context.entries[0].content
    assert context.as_anthropic()["messages"][0]["content"] == [{"type": "text", "text": text}]
    assert context.as_openai()["messages"][0]["content"] == context.as_responses()["input"][0]["content"] == text


@pytest.mark.full
async def test_the_session_of_a_runner_is_a_request_too(ledger: MemoryLedger) -> None:
    """Its entries hold the items of the SDK without the text that is theirs."""
    from ledger.adapters.openai_agents import MemoryLedgerSession  # noqa: PLC0415 - the SDK takes seconds

    session = MemoryLedgerSession("s", ledger=ledger)
    plain = [{"role": "user", "content": "What is this?"}, {"role": "assistant", "content": "A pixel."}]
    await session.add_items([*plain, *RESPONSES[2:4]])
    shown = (await ledger.get_context("s")).as_responses()["input"]
    assert shown[:2] == plain
    assert [(each["type"], each.get("output")) for each in shown[2:]] == [
        ("function_call", None),
        ("function_call_output", "one pixel"),
    ]
