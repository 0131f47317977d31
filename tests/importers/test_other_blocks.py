"""Blocks of Anthropic messages are read as what they are, also if a file begins like OpenAI chat (adapters IN-11)."""

import json

from ledger.formats.importers import documents, read
from ledger.formats.importers.elements.steps import is_hidden

MESSAGES = [
    {"role": "user", "content": "hello"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Look."},
            {"type": "tool_use", "id": "t", "name": "look", "input": {}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a chair", "is_error": False}]},
]


def test_calls_results_and_thinking_of_lines_that_begin_like_chat__IN_11() -> None:
    lines = b"\n".join(json.dumps(message).encode() for message in MESSAGES)
    (conversation,) = read(documents(lines), name="s")
    assert conversation.format == "openai-chat"
    _, (thought, call), (result,) = conversation.batches
    assert (is_hidden(thought), thought.content) == (True, "Look.")
    assert (call.kind, call.tool_name, call.tool_call_id) == ("tool_call", "look", "t")
    assert (result.kind, result.tool_name, result.content, result.tool_status) == (
        "tool_result",
        "look",
        "a chair",
        "ok",
    )


def test_a_system_prompt_is_the_first_message__IN_11() -> None:
    (conversation,) = read(documents(json.dumps({"system": "be brief", "messages": MESSAGES}).encode()), name="s")
    assert conversation.format == "anthropic"
    assert [(entry.role, entry.content) for entry in conversation.batches[0]] == [("system", "be brief")]


def test_calls_and_results_of_a_response__IN_10() -> None:
    items = [
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"at": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "a chair"}]},
    ]
    (conversation,) = read(documents(json.dumps(items).encode()), name="s")
    (call,), (result,) = conversation.batches
    assert (call.tool_name, call.arguments) == ("look", {"at": 1})
    assert (result.tool_name, result.content) == ("look", "a chair")


def test_calls_and_results_of_sharegpt__IN_12() -> None:
    turns = [
        {"from": "function_call", "value": '{"name": "look", "arguments": {"at": 1}}'},
        {"from": "observation", "value": "a chair"},
    ]
    (conversation,) = read(documents(json.dumps({"conversations": turns}).encode()), name="s")
    (call,), (result,) = conversation.batches
    assert (call.kind, call.tool_name, call.arguments) == ("tool_call", "look", {"at": 1})
    assert (result.kind, result.tool_name, result.content) == ("tool_result", "look", "a chair")
