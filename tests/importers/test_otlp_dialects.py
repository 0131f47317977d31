"""Every dialect of OpenTelemetry is read, in files and live, also beside others. Source: adapters IN-21."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.import_files import import_one
from ledger.errors import ImportRefused
from ledger.formats.importers import documents, read
from ledger.formats.importers.elements.steps import is_hidden
from ledger.formats.importers.opentelemetry import reported_calls
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over
from tests.support.model_spans import pairs_json, value_json

QUESTION = "How warm is it?"
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bonn"}'}}
BEFORE: list[Any] = [
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "21"},
]
AFTER = {"role": "assistant", "content": "It is 21."}
SHOWN = [QUESTION, 'weather({"city":"Bonn"})', "21", "It is 21."]
OPENINFERENCE_CALL = "llm.input_messages.1.message.tool_calls.0.tool_call"
MODEL_CALL = {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Bonn"}}
MODEL_RESULT = {
    "type": "tool-result",
    "toolCallId": "c1",
    "toolName": "weather",
    "output": {"type": "text", "value": "21"},
}
MODEL_MESSAGES = [
    BEFORE[0],
    {"role": "assistant", "content": [MODEL_CALL]},
    {"role": "tool", "content": [MODEL_RESULT]},
]
CONVERSE = [
    ("gen_ai.user.message", {"content": json.dumps([{"text": QUESTION}])}),
    (
        "gen_ai.assistant.message",
        {"content": json.dumps([{"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Bonn"}}}])},
    ),
    (
        "gen_ai.tool.message",
        {"content": json.dumps([{"toolResult": {"toolUseId": "c1", "content": [{"text": "21"}]}}])},
    ),
    ("gen_ai.choice", {"message": json.dumps([{"text": "It is 21."}]), "finish_reason": "end_turn"}),
]
BODIES = [
    ("gen_ai.user.message", {"content": QUESTION, "role": "user"}),
    ("gen_ai.assistant.message", {"role": "assistant", "tool_calls": [CALL]}),
    ("gen_ai.tool.message", {"role": "tool", "content": "21", "id": "c1"}),
    ("gen_ai.choice", {"index": 0, "message": AFTER, "finish_reason": "stop"}),
]
GEMINI_CALL = {"id": "c1", "name": "weather", "args": {"city": "Bonn"}}
GEMINI_RESULT = {"id": "c1", "name": "weather", "response": "21"}
GEMINI_ANSWER = {"content": {"role": "model", "parts": [{"text": "It is 21."}]}}
CHAT = {"gen_ai.operation.name": "chat"}


def indexed(prefix: str, message: str = "", calls: str = "tool_calls", call: str = "") -> dict[str, Any]:
    """The messages of BEFORE as attributes with numbers."""
    return {
        f"{prefix}.0{message}.role": "user",
        f"{prefix}.0{message}.content": QUESTION,
        f"{prefix}.1{message}.role": "assistant",
        f"{prefix}.1{message}.{calls}.0{call}.id": "c1",
        f"{prefix}.2{message}.role": "tool",
        f"{prefix}.2{message}.content": "21",
        f"{prefix}.2{message}.tool_call_id": "c1",
    }


def span(attributes: dict[str, Any], events: Any = (), number: int = 1) -> dict[str, Any]:
    listed = [{"name": name, "attributes": pairs_json(each)} for name, each in events]
    ids = {"traceId": f"{number:032x}", "spanId": f"{number:016x}"}
    ended = str(1_770_000_000_000_000_000 + number)
    return {**ids, "name": "call", "endTimeUnixNano": ended, "attributes": pairs_json(attributes), "events": listed}


#: A span of each dialect, all of one call of a model.
SPANS: dict[str, tuple[dict[str, Any], Any]] = {
    "conventions": (
        {**CHAT, "gen_ai.input.messages": json.dumps(BEFORE), "gen_ai.output.messages": json.dumps([AFTER])},
        (),
    ),
    "OpenInference": (
        {
            "openinference.span.kind": "LLM",
            **indexed("llm.input_messages", ".message", "tool_calls", ".tool_call"),
            f"{OPENINFERENCE_CALL}.function.name": "weather",
            f"{OPENINFERENCE_CALL}.function.arguments": '{"city":"Bonn"}',
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.contents.0.message_content.type": "text",
            "llm.output_messages.0.message.contents.0.message_content.text": "It is 21.",
        },
        (),
    ),
    "OpenLLMetry": (
        {
            "llm.request.type": "chat",
            **indexed("gen_ai.prompt"),
            "gen_ai.prompt.1.tool_calls.0.name": "weather",
            "gen_ai.prompt.1.tool_calls.0.arguments": '{"city":"Bonn"}',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "It is 21.",
            "gen_ai.completion.0.finish_reason": "stop",
        },
        (),
    ),
    "Vercel AI SDK, release 5": (
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt.messages": json.dumps(MODEL_MESSAGES),
            "ai.response.text": "It is 21.",
        },
        (),
    ),
    "Vercel AI SDK, half converted": (
        {**CHAT, "gen_ai.input.messages": json.dumps(MODEL_MESSAGES), "ai.response.text": "It is 21."},
        (),
    ),
    "Strands": (CHAT, CONVERSE),
    "Semantic Kernel": (CHAT, [(name, {"gen_ai.event.content": json.dumps(body)}) for name, body in BODIES]),
    "one event for all": (
        CHAT,
        [
            ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(BEFORE)}),
            ("gen_ai.content.completion", {"gen_ai.completion": json.dumps([AFTER])}),
        ],
    ),
    "Pydantic AI": ({**CHAT, "events": json.dumps([{"event.name": name, **body} for name, body in BODIES])}, ()),
    "Logfire": (
        {
            "request_data": json.dumps({"model": "m", "messages": BEFORE}),
            "response_data": json.dumps({"message": AFTER}),
        },
        (),
    ),
    "Langfuse": (
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": json.dumps(BEFORE),
            "langfuse.observation.output": json.dumps(AFTER),
        },
        (),
    ),
    "MLflow": (
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.spanInputs": json.dumps({"messages": BEFORE}),
            "mlflow.spanOutputs": json.dumps({"choices": [{"message": AFTER}]}),
        },
        (),
    ),
    "LangSmith": ({"gen_ai.prompt": json.dumps({"messages": BEFORE}), "gen_ai.completion": json.dumps([AFTER])}, ()),
    "Google ADK": (
        {
            "gcp.vertex.agent.llm_request": json.dumps(
                {
                    "model": "g",
                    "contents": [
                        {"role": "user", "parts": [{"text": QUESTION}]},
                        {
                            "role": "model",
                            "parts": [{"function_call": GEMINI_CALL}],
                        },
                        {
                            "role": "user",
                            "parts": [{"function_response": GEMINI_RESULT}],
                        },
                    ],
                }
            ),
            "gcp.vertex.agent.llm_response": json.dumps(
                {"content": {"role": "model", "parts": [{"text": "It is 21."}]}}
            ),
        },
        (),
    ),
}


def request(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def shown(value: Any) -> list[list[str]]:
    found = read(documents(json.dumps(value).encode()), name="file")
    return [[draft.content for batch in one.batches for draft in batch if not is_hidden(draft)] for one in found]


@pytest.mark.parametrize("name", SPANS)
def test_a_span_of_each_dialect_is_read__IN_21(name: str) -> None:
    assert shown(request(span(*SPANS[name]))) == [SHOWN]


def test_messages_that_are_log_records_of_their_own_are_one_call__IN_21() -> None:
    ids = {"traceId": f"{1:032x}", "spanId": f"{1:016x}"}
    records = [{**ids, "eventName": name, "body": value_json(body)} for name, body in BODIES]
    assert shown({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}) == [SHOWN]


@pytest.mark.parametrize("seed", range(100))
def test_of_mixed_dialects_every_span_is_stored__IN_21(seed: int) -> None:
    """Each is a trace of its own, so no span can hide behind another."""
    random_ = random.Random(seed)
    names = random_.choices(list(SPANS), k=random_.randrange(2, 9))
    assert shown(request(*(span(*SPANS[name], number=at + 1) for at, name in enumerate(names)))) == [SHOWN] * len(names)


def test_a_dialect_that_is_forgotten_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reported_calls, "in_conventions", lambda record: record)
    with pytest.raises((AssertionError, ImportRefused)):
        test_of_mixed_dialects_every_span_is_stored__IN_21(1)


@pytest.mark.parametrize("name", SPANS)
def test_no_value_of_a_span_is_lost__IN_21(name: str) -> None:
    attributes, events = SPANS[name]
    value = request(span({**attributes, "ours.mark": "m-81"}, events))
    found = read(documents(json.dumps(value).encode()), name="file")
    told = json.dumps(
        [[draft.data, draft.metadata, draft.content] for one in found for batch in one.batches for draft in batch]
    )
    assert "m-81" in told
    assert "stop" in told or "stop" not in json.dumps(value)


@pytest.mark.parametrize(
    ("attributes", "code", "told"),
    [
        ({"weird.llm.input": json.dumps([{"role": "user", "content": "hi"}])}, "unknown_dialect", "weird.llm.input"),
        ({"openinference.span.kind": "LLM", "llm.model_name": "m"}, "no_content", "OPENINFERENCE_HIDE_INPUTS"),
        ({"ai.operationId": "ai.generateText.doGenerate"}, "no_content", "recordInputs"),
        ({"llm.request.type": "chat"}, "no_content", "TRACELOOP_TRACE_CONTENT"),
        ({"gen_ai.operation.name": "chat"}, "no_content", "OTEL_INSTRUMENTATION_GENAI_CAPTURE"),
    ],
)
def test_a_refusal_names_the_dialect_that_was_found__IN_21(attributes: dict[str, Any], code: str, told: str) -> None:
    with pytest.raises(ImportRefused) as refusal:
        shown(request(span(attributes)))
    assert refusal.value.code == code
    assert told in str(refusal.value)


async def test_spans_that_become_nothing_are_named__IN_21(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    odd = {"weird.llm.input": json.dumps([{"role": "user", "content": "hi"}])}
    spans = [
        span(*SPANS["Strands"]),
        span({"http.request.method": "GET"}, number=2),
        span(odd, number=3),
        span(CHAT, number=4),
    ]
    text = json.dumps(request(*spans))
    path.write_text(text)
    ledger = ledger_over(InMemoryStore())
    done = await import_one(ledger, str(path), None, None, lambda done, total: None)
    assert sorted((note.kind, note.text.split()[1][-1]) for note in done.notes) == [
        ("left_out", "2"),
        ("not_understood", "3"),
        ("without_content", "4"),
    ]


def test_a_span_with_content_that_is_no_call_is_kept__IN_21() -> None:
    chain = {"openinference.span.kind": "CHAIN", "input.value": "pump-77", "output.value": "done"}
    found = read(documents(json.dumps(request(span(chain))).encode()), name="file")
    drafts = [draft for one in found for batch in one.batches for draft in batch]
    assert [is_hidden(draft) for draft in drafts] == [True]
    assert "pump-77" in json.dumps(drafts[0].data)
