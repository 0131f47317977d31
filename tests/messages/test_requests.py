"""What `as_openai`, `as_responses` and `as_anthropic` return is what the providers take. Source: adapters PM-2."""

import random
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from pydantic import TypeAdapter

from ledger.errors import EntryNotFound
from ledger.formats.messages.anthropic import anthropic_request
from ledger.formats.messages.chat import chat_request
from ledger.formats.messages.responses import responses_request
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from projections.rendering import ShownMessage
from tests.support.ledgers import ledger_over
from tests.support.messages import ANTHROPIC
from tests.support.request_rules import faults_of_anthropic, faults_of_chat, faults_of_responses


class Types(NamedTuple):
    """What the clients of the providers say that a request is."""

    chat: TypeAdapter[Any]
    input: TypeAdapter[Any]
    anthropic: TypeAdapter[Any]


@pytest.fixture(scope="module")
def types() -> Types:
    from anthropic.types import MessageParam  # noqa: PLC0415 - these take seconds, which each process of tests would pay
    from openai.types.chat import ChatCompletionMessageParam  # noqa: PLC0415
    from openai.types.responses import ResponseInputParam  # noqa: PLC0415

    return Types(
        TypeAdapter(list[ChatCompletionMessageParam]), TypeAdapter(ResponseInputParam), TypeAdapter(list[MessageParam])
    )


@pytest.fixture
def ledger() -> MemoryLedger:
    return ledger_over(InMemoryStore())


async def random_session(ledger: MemoryLedger, chance: random.Random) -> None:
    """Write a session with calls that overlap, lack a result, repeat an id, or were removed."""
    await ledger.update_config("s", {"profile": "none"})
    added: list[str] = []
    waiting: list[str] = []
    for number in range(chance.randint(1, 40)):
        match chance.randrange(8):
            case 0:
                entry = await ledger.add_user_message("s", f"question {number}")
            case 1:
                entry = await ledger.add_assistant_message("s", f"answer {number}  ")
            case 2 | 3:
                call_id = chance.choice(["c1", "call 2", f"call:{number}", "toolu_é"])
                entry = await ledger.add_tool_call("s", "look up", {"n": number}, tool_call_id=call_id)
                waiting.append(call_id)
            case 4 | 5:
                call_id = waiting.pop(chance.randrange(len(waiting))) if waiting and chance.random() < 0.8 else "lost"
                entry = await ledger.add_tool_result("s", "look up", f"found {number}", tool_call_id=call_id)
            case 6:
                entry = (await ledger.add_entries("s", [{"role": "system", "content": f"rule {number}"}])).entries[0]
            case _:
                entry = await ledger.add_context("s", f"file {number}", source="notes.txt")
        added.append(entry.entry_id)
        if chance.random() < 0.1:
            with suppress(EntryNotFound):  # it left with the rest of its answer
                await ledger.remove_entry("s", added.pop(chance.randrange(len(added))))
    if chance.random() < 0.5:
        for block in ({"role": "user", "content": "more"}, {"role": "assistant", "content": "yes "}):
            await ledger.add_messages("s", [block])


async def test_random_windows_are_requests_that_providers_take(types: Types, seed: int) -> None:
    """Whatever is in the window: pairs complete, roles as asked, ids as allowed."""
    chance = random.Random(seed)
    for _ in range(40):
        ledger = ledger_over(InMemoryStore())
        await random_session(ledger, chance)
        context = await ledger.get_context("s")
        chat, responses, anthropic = context.as_openai(), context.as_responses(), context.as_anthropic()
        assert (faults_of_chat(chat), faults_of_responses(responses), faults_of_anthropic(anthropic)) == ([], [], [])
        types.chat.validate_python(chat["messages"])
        types.input.validate_python(responses["input"])
        types.anthropic.validate_python(anthropic["messages"])
        assert "file" not in anthropic.get("system", "") + responses.get("instructions", ""), "a stranger's text"
        said = str(anthropic)
        assert all(entry.content.strip() in said or entry.kind == "tool_call" for entry in context.entries)


def broken(shown: list[ShownMessage]) -> list[ShownMessage]:
    """Return the messages without the last result: a request with half a pair."""
    last = max(at for at, message in enumerate(shown) if message.message["role"] == "tool")
    return shown[:last] + shown[last + 1 :]


async def test_half_a_pair_is_caught(ledger: MemoryLedger) -> None:
    """Negative control of the rules above."""
    await ledger.add_user_message("s", "Which file?")
    await ledger.add_tool_call("s", "find", {}, tool_call_id="c")
    await ledger.add_tool_result("s", "find", "a.py", tool_call_id="c")
    shown = broken((await ledger.get_context("s")).shown_messages)
    assert faults_of_chat(chat_request(shown, {}))
    assert faults_of_responses(responses_request(shown, {}))
    assert faults_of_anthropic(anthropic_request(shown, {}))


async def test_the_requests_have_the_types_of_the_anthropic_client(types: Types, ledger: MemoryLedger) -> None:
    await ledger.add_messages("s", ANTHROPIC)
    context = await ledger.get_context("s")
    types.anthropic.validate_python(context.as_anthropic(await ledger.get_attachments(context))["messages"])
