"""Messages that no entry has room for are imported all the same, and their bytes come back. Source: adapters LF-5."""

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import Any

import pytest

from ledger.events.canonical import canonical_json
from ledger.formats.importers import TranscriptFile
from ledger.formats.importers.elements import fitting
from ledger.memory import MemoryLedger
from ledger.session.attachments import put_back, references
from ledger.stores.in_memory import InMemoryStore
from tests.support.json_as_text import read_back
from tests.support.ledgers import ledger_over

_BYTES = Random(14).randbytes(5_000_000)
PICTURE = b64encode(_BYTES).decode()
BOOK = b64encode(_BYTES * 2).decode()
#: More than the data of an entry has room for, and more than its content has.
BOOK_TEXT = "Many words, and Ü. " * 400_000
TEXT = "Many words, and Ü. " * 80_000
SESSION = "5d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"

Line = dict[str, Any]


def _claude(kind: str, content: Any, uuid: str, parent: str | None, **more: Any) -> Line:
    message = {"role": kind, "content": content, **({"id": f"m-{uuid}"} if kind == "assistant" else {})}
    about = {"sessionId": SESSION, "uuid": uuid, "parentUuid": parent, "timestamp": "2026-03-01T10:00:00Z"}
    return {"type": kind, "message": message, **about, **more}


def _codex(kind: str, payload: Line) -> Line:
    return {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}


_SOURCE = {"type": "base64", "media_type": "image/png", "data": PICTURE}
_RESULT = {"type": "tool_result", "tool_use_id": "t-1", "content": [{"type": "image", "source": _SOURCE}]}
_READ = {"type": "tool_use", "id": "t-1", "name": "Read", "input": {"file_path": "a.png"}}
_WRITE = {"type": "tool_use", "id": "t-2", "name": "Write", "input": {"file_path": "a.txt", "content": BOOK_TEXT}}
_CLAUDE = [
    _claude("user", "Look at a.png", "u-1", None),
    _claude("assistant", [_READ], "u-2", "u-1"),
    _claude("user", [_RESULT], "u-3", "u-2", toolUseResult={"type": "image", "file": {"base64": PICTURE}}),
    _claude("assistant", [_WRITE], "u-4", "u-3"),
    _claude("user", "Thank you", "u-5", "u-4"),
]
_URL = f"data:image/png;base64,{PICTURE}"
_CHAT = [
    {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": _URL}}]},
    {"role": "assistant", "content": TEXT},
    {"role": "user", "content": "Thank you"},
]
_CODEX = [
    _codex("session_meta", {"id": SESSION, "timestamp": "2026-03-01T10:00:00Z", "cwd": "/app"}),
    _codex(
        "response_item",
        {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": _URL}]},
    ),
    _codex(
        "response_item",
        {"type": "function_call", "call_id": "c-1", "name": "write", "arguments": json.dumps({"text": TEXT})},
    ),
    _codex("response_item", {"type": "function_call_output", "call_id": "c-1", "output": TEXT}),
]
_GEMINI_ABOUT = {"sessionId": SESSION, "projectHash": "abc", "startTime": "2026-03-01T10:00:00Z"}
_GEMINI_PARTS = [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]
_GEMINI = [
    {**_GEMINI_ABOUT, "lastUpdated": "2026-03-01T10:00:00Z", "kind": "main"},
    {"id": "m-1", "timestamp": "2026-03-01T10:00:00Z", "type": "user", "content": _GEMINI_PARTS},
    {"id": "m-2", "timestamp": "2026-03-01T10:00:01Z", "type": "gemini", "content": TEXT},
]
_ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "source": _SOURCE}]},
    {"role": "assistant", "content": [{"type": "text", "text": TEXT}]},
]
_RESPONSES = [
    {"type": "message", "role": "user", "content": [{"type": "input_file", "file_data": BOOK, "filename": "a.pdf"}]},
    {"type": "function_call_output", "call_id": "c-1", "output": TEXT},
]
_SHAREGPT = [{"conversations": [{"from": "human", "value": BOOK_TEXT}, {"from": "gpt", "value": "I see."}]}]


def _span(at: int, messages: list[Any]) -> Line:
    texts = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": SESSION}
    values = {**texts, "gen_ai.input.messages": json.dumps(messages)}
    span = {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": f"{at:016x}",
        "name": "chat",
        "startTimeUnixNano": str(1_760_000_000_000_000_000 + at),
        "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in values.items()],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


_BLOB = {"role": "user", "parts": [{"type": "blob", "mime_type": "image/png", "content": PICTURE}]}
_SAID = {"role": "assistant", "parts": [{"type": "text", "content": TEXT}]}
_OTLP = [_span(1, [_BLOB]), _span(2, [_BLOB, _SAID])]

#: Lines of each format, and the texts in them that must come back.
FILES: dict[str, tuple[list[Line], list[str]]] = {
    "claude-code": (_CLAUDE, [PICTURE, BOOK_TEXT]),
    "openai-chat": (_CHAT, [PICTURE, TEXT]),
    "codex": (_CODEX, [PICTURE, TEXT]),
    "gemini-cli": (_GEMINI, [PICTURE, TEXT]),
    "anthropic-messages": (_ANTHROPIC, [PICTURE, TEXT]),
    "openai-responses": (_RESPONSES, [BOOK, TEXT]),
    "sharegpt": (_SHAREGPT, [BOOK_TEXT]),
    "otlp": (_OTLP, [PICTURE, TEXT]),
}
each_format = pytest.mark.parametrize("format_", FILES)


def file_of(lines: list[Line]) -> TranscriptFile:
    written = [json.dumps(line).encode() + b"\n" for line in lines]
    return TranscriptFile(lambda: iter(written), name=SESSION)


def strings(value: Any) -> list[str]:
    """Return every text in *value*, also in JSON that is text."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    if isinstance(value, str) and value[:1] in {"{", "["}:
        return strings(json.loads(value))
    return [value] if isinstance(value, str) else []


async def attached(ledger: MemoryLedger, session: str) -> tuple[list[Any], dict[str, bytes]]:
    """Return the data of each entry of a session, and all its attachments."""
    history = (await ledger.get_history(session)).entries
    values = {value.key: value.value for value in await ledger.list_kept(session, "attachments", limit=100)}
    return [entry.data for entry in history], values


@pytest.mark.sample(3)
@each_format
async def test_every_byte_of_a_large_message_comes_back__LF_5(format_: str) -> None:
    lines, texts = FILES[format_]
    ledger = ledger_over(InMemoryStore())
    (session,) = (await ledger.import_conversations(file_of(lines))).session_ids
    data, values = await attached(ledger, session)
    assert all(sha256(content).hexdigest() == digest for digest, content in values.items())
    there = [text.rpartition(";base64,")[2] for each in data for text in strings(put_back(each, values))]
    assert [text in there for text in texts] == [True] * len(texts)
    assert (await ledger.verify()).ok


@pytest.mark.sample(3)
@each_format
async def test_a_grown_file_with_large_messages_adds_the_rest_and_nothing_twice__LF_5(format_: str) -> None:
    lines, _ = FILES[format_]
    at_once, growing = ledger_over(InMemoryStore()), ledger_over(InMemoryStore())
    (session,) = (await at_once.import_conversations(file_of(lines))).session_ids
    for number in {1, len(lines)}:
        await growing.import_conversations(file_of(lines[:number]))
    assert await attached(growing, session) == await attached(at_once, session)
    head = (await growing.get_state(session)).version
    assert (await growing.import_conversations(file_of(lines))).entries == 0
    assert (await growing.get_state(session)).version == head


async def test_equal_bytes_of_one_import_are_stored_once__LF_5(ledger: MemoryLedger) -> None:
    """A line of Claude Code has a picture twice, and here two lines have it; the text has two parts."""
    again = {**_CLAUDE[2], "uuid": "u-6", "parentUuid": "u-5"}
    await ledger.import_conversations(file_of([*_CLAUDE, again]))
    types = [event.type for event in (await ledger.get_log(SESSION)).events]
    assert types.count("kept.set") == len(await ledger.list_kept(SESSION, "attachments")) == 3
    assert (await ledger.verify()).ok


async def test_a_picture_of_an_import_is_shown_to_the_model() -> None:
    ledger = ledger_over(InMemoryStore())
    await ledger.import_conversations(file_of(_ANTHROPIC))
    context = await ledger.get_context(SESSION)
    shown = context.as_anthropic(await ledger.get_attachments(context))["messages"]
    assert shown[0]["content"][1] == {"type": "image", "source": _SOURCE}
    assert len(str(context.messages)) < 500_000, "the model is shown the beginning of a long text"


@pytest.mark.full
async def test_data_and_arguments_of_many_short_texts_come_back__LF_5() -> None:
    ledger = ledger_over(InMemoryStore())
    paths = [f"{'folder/' * 15}module_{number}.py" for number in range(60_000)]
    call = {"type": "tool_use", "id": "t-1", "name": "Read", "input": {"paths": paths}}
    found = {"files": {f"dir {number}": paths[number * 300 : (number + 1) * 300] * 2 for number in range(200)}}
    result = {"type": "tool_result", "tool_use_id": "t-1", "content": "read"}
    lines = [
        _claude("user", "Read all", "u-1", None),
        _claude("assistant", [call], "u-2", "u-1"),
        _claude("user", [result], "u-3", "u-2", toolUseResult=[found, found, found]),
    ]
    await ledger.import_conversations(file_of(lines))
    data, values = await attached(ledger, SESSION)
    (_, of_call, of_result) = (put_back(each, values) for each in data)
    arguments = of_call.get("arguments") or json.loads(of_call["data"])["arguments"]
    assert arguments == {"paths": paths}
    assert json.loads(of_result["data"])["toolUseResult"] == [found, found, found]
    assert (await ledger.import_conversations(file_of(lines))).entries == 0


@pytest.mark.parametrize("shape", ["deep", "many values"])
async def test_arguments_that_are_deep_and_large_or_have_many_values_come_back__LF_5(shape: str) -> None:
    arguments: Any = {"text": TEXT} if shape == "deep" else {"numbers": [1] * 150_000}
    for _ in range(31 if shape == "deep" else 0):
        arguments = {"in": arguments}
    written = canonical_json(arguments).decode()
    call = {"type": "function_call", "call_id": "c-1", "name": "write", "arguments": written}
    ledger, lines = ledger_over(InMemoryStore()), [_CODEX[0], _codex("response_item", call)]
    await ledger.import_conversations(file_of(lines))
    data, values = await attached(ledger, SESSION)
    of_call = put_back(data[1], values)
    whole = json.loads(of_call["data"]) if "data" in of_call else of_call
    assert read_back(whole["arguments"]) == arguments
    assert (await ledger.import_conversations(file_of(lines))).entries == 0


async def test_a_small_message_is_stored_as_before__LF_5() -> None:
    small = "A" * 2_000
    ledger = ledger_over(InMemoryStore())
    content = [{"type": "image", "source": {**_SOURCE, "data": small}}]
    await ledger.import_conversations(file_of([{"role": "user", "content": content}]))
    data, values = await attached(ledger, SESSION)
    assert small in strings(data)
    assert values == {}


def _lossy(value: Any, found: dict[str, bytes]) -> Any:
    return None


def _unstored(value: Any, found: dict[str, bytes]) -> Any:
    return _taken_out(value, {})


_taken_out = fitting.long_texts_taken_out


@pytest.mark.parametrize("broken", [_lossy, _unstored])
async def test_an_import_that_loses_bytes_is_noticed(
    broken: Callable[[Any, dict[str, bytes]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the data is dropped, or its bytes are not stored."""
    monkeypatch.setattr(fitting, "long_texts_taken_out", broken)
    with pytest.raises((AssertionError, KeyError)):
        await test_every_byte_of_a_large_message_comes_back__LF_5("claude-code")


async def test_a_fork_has_the_bytes_of_its_origin__LF_5(ledger: MemoryLedger) -> None:
    await ledger.import_conversations(file_of(_CHAT))
    fork = await ledger.fork(SESSION, "other")
    context = await ledger.get_context(fork.session_id)
    digests = {digest for entry in context.entries for digest in references(entry.data)}
    assert digests
    assert digests <= (await ledger.get_attachments(context)).keys()
