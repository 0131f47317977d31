"""Messages come back as they were given, and in the other two shapes. Source: adapters PM-1, PM-3."""

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
from tests.support.request_rules import faults


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


async def test_reasoning_content_of_chat_goes_back_with_its_calls(ledger: MemoryLedger) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "zoom", "arguments": '{"factor":2}'}}
    given = [
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": None, "reasoning_content": "A tool may know.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "one pixel"},
        {"role": "assistant", "content": "One pixel.", "reasoning_content": "Clear."},
    ]
    context, _ = await shown(ledger, given)
    assert context.as_openai() == {"messages": given}
    assert "A tool may know." not in str(context.as_anthropic()), "it has no signature"


async def test_redacted_thinking_goes_back_without_a_look_for_attachments(ledger: MemoryLedger) -> None:
    thought = {"type": "redacted_thinking", "data": b64encode(bytes(2_000)).decode()}
    call = {"type": "tool_use", "id": "c1", "name": "zoom", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "one pixel"}
    context, _ = await shown(
        ledger,
        [
            {"role": "user", "content": "What is it?"},
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [result]},
        ],
    )
    assert context.as_anthropic()["messages"][1]["content"] == [thought, call]


async def test_thinking_stays_with_an_answer_whose_text_is_edited(ledger: MemoryLedger) -> None:
    added = await ledger.add_messages("s", ANTHROPIC)
    await ledger.edit_entry("s", added.entries[1].entry_id, "I zoom.")
    content = (await ledger.get_context("s")).as_anthropic()["messages"][1]["content"]
    assert [block["type"] for block in content] == ["thinking", "text", "tool_use", "tool_use"]
    assert content[1]["text"] == "I zoom."


async def test_items_of_an_edited_answer_go_without_reasoning_and_ids(ledger: MemoryLedger) -> None:
    """A provider takes neither without the other."""
    said = {**RESPONSES[-1], "content": [{"type": "output_text", "text": "I look.", "annotations": []}]}
    added = await ledger.add_messages("s", [RESPONSES[0], RESPONSES[1], said, *RESPONSES[2:4]])
    await ledger.edit_entry("s", added.entries[1].entry_id, "I zoom.")
    items = (await ledger.get_context("s")).as_responses()["input"]
    assert [item.get("type") for item in items[1:]] == [None, "function_call", "function_call_output"]
    assert "id" not in items[1] | items[2]


@pytest.mark.parametrize("place", range(1, 6))
async def test_removing_an_entry_removes_its_whole_answer(ledger: MemoryLedger, place: int) -> None:
    """R-GEN-8: thinking, text, calls and results."""
    added = await ledger.add_messages("s", ANTHROPIC)
    await ledger.remove_entry("s", added.entries[place].entry_id)
    assert [entry.content for entry in (await ledger.get_context("s")).entries] == [
        "What is in this picture?\n[image]",
        "And now?",
        "One pixel.",
    ]
    events = [event for event in await ledger.get_events("s") if event.type == "entry.removed"]
    assert len(events) == 5
    assert len({event.payload.write_id for event in events}) == 1


async def test_removing_several_entries_removes_each_answer_once(ledger: MemoryLedger) -> None:
    added = await ledger.add_messages("s", ANTHROPIC)
    await ledger.remove_entries("s", [added.entries[at].entry_id for at in (5, 2, 7)])
    assert [entry.role for entry in (await ledger.get_context("s")).entries] == ["user", "user"]


async def test_what_is_left_of_a_popped_answer_is_a_request_that_providers_take(ledger: MemoryLedger) -> None:
    """An item at a time, as the SDKs pop."""
    await ledger.add_messages("s", [*ANTHROPIC[:2], *RESPONSES[:4], *CHAT[1:5]])
    while await ledger.pop_entry("s"):
        context = await ledger.get_context("s")
        requests = {"anthropic": context.as_anthropic(), "responses": context.as_responses()}
        assert faults({**requests, "openai": context.as_openai()}) == []
