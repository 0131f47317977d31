"""Messages come back as they were given, and in the other two shapes. Source: adapters §8."""

from base64 import b64decode, b64encode
from hashlib import sha256
from json import dumps
from random import Random
from typing import Any

import pytest

from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.results import Context
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over
from tests.support.messages import ANTHROPIC, CHAT, IMAGE, RESPONSES


@pytest.fixture
def ledger() -> MemoryLedger:
    return ledger_over(InMemoryStore())


async def shown(ledger: MemoryLedger, messages: list[dict[str, Any]]) -> tuple[Context, dict[str, bytes]]:
    await ledger.add_messages("s", messages)
    context = await ledger.get_context("s")
    return context, await ledger.get_attachments(context)


async def test_chat_messages_come_back(ledger: MemoryLedger) -> None:
    context, attachments = await shown(ledger, CHAT)
    assert context.as_openai(attachments) == {"messages": CHAT}


async def test_responses_items_come_back_with_their_reasoning(ledger: MemoryLedger) -> None:
    context, attachments = await shown(ledger, RESPONSES)
    assert context.as_responses(attachments) == {"input": RESPONSES}


async def test_anthropic_messages_come_back_with_their_thinking(ledger: MemoryLedger) -> None:
    context, attachments = await shown(ledger, ANTHROPIC)
    returned = context.as_anthropic(attachments)["messages"]
    last = {"role": "assistant", "content": [{"type": "text", "text": "One pixel."}]}
    assert returned == [*ANTHROPIC[:-1], last]


@pytest.mark.parametrize("given", [CHAT, RESPONSES, ANTHROPIC], ids=["chat", "responses", "anthropic"])
async def test_an_image_is_shown_in_every_shape(ledger: MemoryLedger, given: list[dict[str, Any]]) -> None:
    context, attachments = await shown(ledger, given)
    url = f"data:image/png;base64,{IMAGE}"
    chat = next(each for each in context.as_openai(attachments)["messages"] if each["role"] == "user")
    assert chat["content"][1]["image_url"]["url"] == url
    assert context.as_responses(attachments)["input"][0]["content"][1]["image_url"] == url
    image = context.as_anthropic(attachments)["messages"][0]["content"][1]
    assert image == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}


async def test_bytes_are_kept_once_and_not_in_the_entry(ledger: MemoryLedger) -> None:
    """adapters LF-5: a picture that is sent again is stored once."""
    first = await ledger.add_messages("s", CHAT[:2])
    second = await ledger.add_messages("s", ANTHROPIC[:1])
    assert second.version - first.version == 1
    assert [value.value for value in await ledger.list_kept("s", "attachments")] == [b64decode(IMAGE)]
    assert all(IMAGE not in str(entry.data) for entry in (await ledger.get_context("s")).entries)


@pytest.mark.parametrize("kind", ["attachment:", "attachment-text:", "data:text/plain;base64,attachment:"])
@pytest.mark.parametrize("digest", ["ab" * 32, sha256(b64decode(IMAGE)).hexdigest()], ids=["unknown", "the picture's"])
async def test_a_text_that_looks_like_a_reference_stays_and_so_do_the_parts_beside_it(
    ledger: MemoryLedger, kind: str, digest: str
) -> None:
    text, url = f"{kind}{digest}", f"data:image/png;base64,{IMAGE}"
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}
    chat = [
        {"role": "user", "content": [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]}
    ]
    said = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"data": text}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}, image]}
            ],
        },
    ]
    items = [
        {"type": "message", "role": "user", "content": text},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": dumps({"data": text}), "id": "f1"},
        {"type": "function_call_output", "call_id": "c1", "output": text, "id": "f2"},
    ]
    await ledger.add_messages("chat", chat)
    await ledger.add_messages("said", said)
    await ledger.add_messages("items", [*items, RESPONSES[0]])
    contexts = {name: await ledger.get_context(name) for name in ("chat", "said", "items")}
    attachments = {name: await ledger.get_attachments(context) for name, context in contexts.items()}
    assert contexts["chat"].as_openai(attachments["chat"])["messages"] == chat
    assert contexts["said"].as_anthropic(attachments["said"])["messages"] == said
    returned = contexts["items"].as_responses(attachments["items"])["input"]
    assert [{key: item[key] for key in item if key != "id"} for item in returned] == [
        {key: item[key] for key in item if key != "id"} for item in [*items, RESPONSES[0]]
    ]


async def test_a_text_that_is_a_picture_in_base64_stays_beside_a_picture(ledger: MemoryLedger) -> None:
    url = f"data:image/png;base64,{IMAGE}"
    content = [{"type": "text", "text": url}, {"type": "image_url", "image_url": {"url": url}}]
    context, attachments = await shown(ledger, [{"role": "user", "content": content}])
    assert context.as_openai(attachments)["messages"] == [{"role": "user", "content": content}]


async def test_without_its_bytes_a_picture_is_named(ledger: MemoryLedger) -> None:
    context, _ = await shown(ledger, ANTHROPIC)
    said = context.as_anthropic()["messages"][0]["content"]
    assert said == [{"type": "text", "text": "What is in this picture?\n[image]"}]


async def test_an_edited_text_is_what_the_model_is_shown(ledger: MemoryLedger) -> None:
    added = await ledger.add_messages("s", RESPONSES)
    await ledger.edit_entry("s", added.entries[-1].entry_id, "Two pixels.")
    context = await ledger.get_context("s")
    assert context.as_responses()["input"][-1] == {"role": "assistant", "content": "Two pixels."}


async def test_a_repeated_key_adds_nothing(ledger: MemoryLedger) -> None:
    first = await ledger.add_messages("s", ANTHROPIC, idempotency_key="k")
    again = await ledger.add_messages("s", ANTHROPIC, idempotency_key="k")
    assert (again.replayed, again.version) == (True, first.version)


@pytest.mark.parametrize(
    ("messages", "code", "field"),
    [
        ([], "batch_size", "messages"),
        ("hello", "wrong_type", "messages"),
        (["hello"], "wrong_type", "messages[0]"),
        ([{"role": "user", "content": "a"}, {"text": "b"}], "bad_shape", "messages[1]"),
        ([{"role": 7, "content": "a"}], "bad_shape", "messages[0]"),
        ([{"role": "assistant", "content": [{"type": "tool_use", "id": "c"}, 5]}], "bad_shape", "messages[0]"),
    ],
)
async def test_what_is_no_message_is_refused_and_nothing_stored(
    ledger: MemoryLedger, messages: Any, code: str, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await ledger.add_messages("s", messages)
    assert (refused.value.code, refused.value.field) == (code, field)
    assert await ledger.list_sessions() == []


async def test_a_file_larger_than_a_stored_value_comes_back__LF_5(ledger: MemoryLedger) -> None:
    data = b64encode(Random(5).randbytes(10_000_000)).decode()
    message = {"type": "message", "role": "user", "content": [{"type": "input_file", "file_data": data}]}
    context, attachments = await shown(ledger, [message])
    assert len(attachments) == 2
    assert context.as_responses(attachments) == {"input": [message]}


async def test_messages_with_too_many_bytes_are_refused_and_nothing_is_stored__LF_5(ledger: MemoryLedger) -> None:
    data = b64encode(Random(5).randbytes(81 * 1024 * 1024)).decode()
    message = {"role": "user", "content": [{"type": "input_file", "file_data": data}]}
    with pytest.raises(InvalidInput, match="messages: must have at most 80 MiB"):
        await ledger.add_messages("s", [message])
    assert await ledger.list_sessions() == []
