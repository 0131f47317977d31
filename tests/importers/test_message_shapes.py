"""Messages in the shapes of other SDKs: text, calls and results are what they are. Source: adapters IN-17, IN-18."""

import json
from typing import Any

import pytest

from ledger.formats.importers import documents, read
from ledger.formats.importers.elements.steps import is_hidden
from ledger.session.entry_drafts import EntryDraft

Shown = list[tuple[str, str, str, str | None]]
#: A question, a call with its result, and an answer, as every shape below says it.
WHOLE: Shown = [
    ("message", "user", "How warm is it in Bonn?", None),
    ("tool_call", "assistant", 'weather({"city":"Bonn"})', "c1"),
    ("tool_result", "tool", '{"c":21}', "c1"),
    ("message", "assistant", "It is 21.", None),
]
QUESTION, ANSWER = WHOLE[0][2], WHOLE[3][2]
CITY, FOUND = {"city": "Bonn"}, {"c": 21}


def chat_messages() -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bonn"}'}}
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"c":21}'},
        {"role": "assistant", "content": ANSWER},
    ]


def model_messages() -> list[Any]:
    named = {"toolCallId": "c1", "toolName": "weather"}
    return [
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
        {"role": "assistant", "content": [{"type": "tool-call", **named, "input": CITY}]},
        {"role": "tool", "content": [{"type": "tool-result", **named, "output": {"type": "json", "value": FOUND}}]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ]


def ui_messages() -> list[Any]:
    tool = {"type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": CITY, "output": FOUND}
    return [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": QUESTION}]},
        {"id": "2", "role": "assistant", "parts": [{"type": "step-start"}, tool, {"type": "text", "text": ANSWER}]},
    ]


def old_ui_messages() -> list[Any]:
    called = {"state": "result", "toolCallId": "c1", "toolName": "weather", "args": CITY, "result": FOUND}
    parts = [{"type": "tool-invocation", "toolInvocation": called}, {"type": "text", "text": ANSWER}]
    return [
        {"id": "1", "role": "user", "content": QUESTION, "parts": [{"type": "text", "text": QUESTION}]},
        {"id": "2", "role": "assistant", "content": ANSWER, "parts": parts},
    ]


def converse_messages() -> list[Any]:
    result = {"toolUseId": "c1", "content": [{"json": FOUND}], "status": "success"}
    return [
        {"role": "user", "content": [{"text": QUESTION}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "weather", "input": CITY}}]},
        {"role": "user", "content": [{"toolResult": result}]},
        {"role": "assistant", "content": [{"text": ANSWER}]},
    ]


def convention_messages() -> list[Any]:
    return [
        {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": CITY}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": FOUND}]},
        {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}]},
    ]


def gemini_messages() -> list[Any]:
    return [
        {"role": "user", "parts": [{"text": QUESTION}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "weather", "args": CITY}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": FOUND}}]},
        {"role": "model", "parts": [{"text": ANSWER}]},
    ]


def block_messages() -> list[Any]:
    result = {"type": "tool_result", "tool_use_id": "c1", "content": '{"c":21}'}
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": CITY}]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
    ]


SHAPES = {
    "chat": chat_messages(),
    "AI SDK model messages": model_messages(),
    "AI SDK UI messages": ui_messages(),
    "AI SDK UI messages, release 4": old_ui_messages(),
    "Bedrock Converse": converse_messages(),
    "semantic conventions": convention_messages(),
    "Gemini": gemini_messages(),
    "Anthropic blocks": block_messages(),
}


def list_of(messages: list[Any]) -> Any:
    return messages


def request_of(messages: list[Any]) -> Any:
    return {"model": "m", "messages": messages}


def observation_of(messages: list[Any], *, as_text: bool = False) -> Any:
    before, after = (json.dumps(messages[:-1]), json.dumps(messages[-1])) if as_text else (messages[:-1], messages[-1])
    called = {"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-06-01T10:00:00Z"}
    return [{**called, "input": before, "output": after}]


def run_of(messages: list[Any], *, as_text: bool = False) -> Any:
    held: list[Any] = [{"messages": messages[:-1]}, {"choices": [{"message": messages[-1]}]}]
    inputs, outputs = map(json.dumps, held) if as_text else held
    run = {"id": "r1", "run_type": "llm", "trace_id": "t1", "dotted_order": "1", "start_time": "2026-06-01T10:00:00"}
    return [{**run, "inputs": inputs, "outputs": outputs}]


def span_of(messages: list[Any]) -> Any:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(messages[:-1]),
        "gen_ai.output.messages": json.dumps(messages[-1:]),
    }
    pairs = [{"key": name, "value": {"stringValue": value}} for name, value in attributes.items()]
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "chat", "attributes": pairs}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


HOLDERS = {
    "list": list_of,
    "request": request_of,
    "Langfuse": observation_of,
    "Langfuse, as text": lambda messages: observation_of(messages, as_text=True),
    "LangSmith": run_of,
    "LangSmith, as text": lambda messages: run_of(messages, as_text=True),
    "OTLP": span_of,
}


def drafts_of(value: Any) -> list[EntryDraft]:
    """Return what the window shows of a file."""
    (found,) = read(documents(json.dumps(value).encode()), name="file")
    return [draft for batch in found.batches for draft in batch if not is_hidden(draft)]


def shown(value: Any) -> Shown:
    return [(draft.kind, draft.role, draft.content, draft.tool_call_id) for draft in drafts_of(value)]


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_message_of_any_shape_is_read_wherever_it_is_held__IN_17(shape: str, holder: str) -> None:
    assert shown(HOLDERS[holder](SHAPES[shape])) == WHOLE


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_has_the_name_of_the_tool_that_was_called__IN_17(shape: str) -> None:
    assert [draft.tool_name for draft in drafts_of(SHAPES[shape])] == [None, "weather", "weather", None]


@pytest.mark.parametrize("holder", ["Langfuse, as text", "LangSmith, as text"])
def test_a_system_prompt_in_json_text_stays_one__IN_17(holder: str) -> None:
    messages = [{"role": "system", "content": "Be brief."}, *chat_messages()]
    assert shown(HOLDERS[holder](messages)) == [("message", "system", "Be brief.", None), *WHOLE]


@pytest.mark.parametrize("text", ['{"city": "Bonn"}', '["a", "b"]', "[1, 2", '{"text": "hi"}', "[]"])
def test_json_that_holds_no_messages_is_what_was_said__IN_17(text: str) -> None:
    run = {**observation_of(chat_messages())[0], "input": text, "output": text}
    assert [draft.content for draft in drafts_of([run])] == [text, text]


def test_fields_of_parts_are_not_lost__IN_17() -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": CITY, "providerOptions": {"a": 7}}
    output = {"type": "error-text", "value": "no station"}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "weather", "output": output, "mark": "m9"}
    text = {"type": "text", "text": "Hm.", "citations": ["c8"]}
    found = drafts_of(
        [{"role": "assistant", "content": [text, call]}, {"role": "tool", "content": [result], "id": "i"}]
    )
    assert [draft.tool_status for draft in found] == [None, None, "error"]
    assert found[2].content == "no station"
    told = json.dumps([[draft.data, draft.metadata] for draft in found])
    assert all(mark in told for mark in ('{"a": 7}', "m9", "c8", '"i"'))


def test_thinking_and_markers_of_steps_are_hidden__IN_17() -> None:
    thoughts = [
        {"type": "reasoning", "text": "hmm", "state": "done"},
        {"reasoningContent": {"reasoningText": {"text": "hmm", "signature": "s1"}}},
        {"text": "hmm", "thought": True, "thoughtSignature": "s1"},
        {"type": "step-start"},
        {"cachePoint": {"type": "default"}},
    ]
    for thought in thoughts:
        parts = [thought, {"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {}}]
        (found,) = read(documents(json.dumps([{"role": "assistant", "content": parts}]).encode()), name="file")
        drafts = [draft for batch in found.batches for draft in batch]
        assert [is_hidden(draft) for draft in drafts] == [True, False]


def assistants_page(*, newest_first: bool = True) -> dict[str, Any]:
    def message(number: int, role: str, text: str) -> dict[str, Any]:
        annotations = [{"type": "file_citation", "file_citation": {"file_id": f"file-{number}"}}]
        content = [{"type": "text", "text": {"value": text, "annotations": annotations}}]
        about = {"id": f"msg_{number}", "object": "thread.message", "thread_id": "thread_1"}
        return {**about, "created_at": 1750000000 + number, "role": role, "content": content}

    data = [message(1, "user", "How warm is it?"), message(2, "assistant", "It is 21.")]
    return {"object": "list", "data": data[::-1] if newest_first else data, "has_more": False}


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("as_page", [True, False])
def test_a_thread_of_the_assistants_api_is_read_oldest_first__IN_18(newest_first: bool, as_page: bool) -> None:
    page = assistants_page(newest_first=newest_first)
    value = page if as_page else page["data"]
    (found,) = read(documents(json.dumps(value).encode()), name="file")
    drafts = [draft for batch in found.batches for draft in batch]
    assert [(draft.role, draft.content) for draft in drafts] == [
        ("user", "How warm is it?"),
        ("assistant", "It is 21."),
    ]
    assert "file-1" in json.dumps(drafts[0].data)
    assert [draft.created_at.timestamp() for draft in drafts if draft.created_at] == [1750000001, 1750000002]
    assert found.session_id == "thread_1"


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        *(("Human", "user"), ("USER", "user"), ("model", "assistant"), ("GPT", "assistant"), ("ChatGPT", "assistant")),
        *(("claude", "assistant"), ("ai", "assistant"), ("System", "system"), ("narrator", "tool")),
    ],
)
def test_speakers_of_sharegpt_are_known_in_any_case__IN_12(speaker: str, role: str) -> None:
    (draft,) = drafts_of([{"id": "s", "conversations": [{"from": speaker, "value": "hi"}]}])
    assert (draft.role, draft.content) == (role, "hi")
    assert draft.metadata is not None
    assert draft.metadata["original_role"] == speaker
