"""Text that no entry may have stops no conversation: it is shown as it can be. Source: adapters IN-7, IN-13."""

import json
import math
from base64 import b64decode, b64encode
from random import Random
from typing import Any

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression

from ledger.events.limits import CONTENT_BYTES
from ledger.formats.importers.elements import message_parts
from ledger.formats.importers.opentelemetry import reported_calls
from ledger.session.attachments import SPACE, put_back
from tests.server.conftest import Running, Transcript
from tests.support.model_spans import attributes_of_call, ended_span, exported, said, span_json
from tests.support.reported_days import TRACES, rejected, send

pytestmark = pytest.mark.postgres
ODD = {"NUL": "a\0b", "half a character": "a\ud800", "too long": "z" * (CONTENT_BYTES + 10)}


def day(response: Any) -> list[list[dict[str, Any]]]:
    """Return the histories of calls, each the one before and one message more; a tool answers with *response*."""
    call = {"type": "tool_call", "id": "c1", "name": "read", "arguments": {}}
    messages = [
        said("user", "hello"),
        said("assistant", "hi"),
        said("user", "read the file"),
        {"role": "assistant", "parts": [call]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": response}]},
        said("assistant", "done reading"),
        said("user", "later question"),
        said("assistant", "later answer"),
    ]
    return [messages[:end] for end in range(2, len(messages) + 1, 2)]


def calls(session: str, response: Any) -> list[dict[str, Any]]:
    return [
        span_json(attributes_of_call(session, history[:-1], history[-1:]), span=number)
        for number, history in enumerate(day(response), 1)
    ]


@pytest.mark.parametrize("odd", ODD)
def test_a_conversation_goes_on_after_odd_text__IN_13(
    api: httpx.Client, session: str, shown: Transcript, odd: str
) -> None:
    for span in calls(session, ODD[odd]) * 2:  # the second time, nothing is new
        assert not rejected(send(api, span))
    told = shown(session)
    assert [text for _, text in told][-3:] == ["done reading", "later question", "later answer"]
    assert len(told) == 8
    assert told[4][1].startswith({"NUL": "a␀b", "half a character": "a�", "too long": "zzz"}[odd])


@pytest.mark.parametrize(
    "given",
    [
        {"answers": {"Which of these do you prefer? " * 10: "The first"}},
        {"tree": json.loads("[" * 40 + "]" * 40)},
        {"prices": [math.inf, -math.inf]},
    ],
    ids=["a question as key", "deep", "infinity"],
)
def test_arguments_that_no_entry_may_have_are_shown_as_text__IN_13(
    api: httpx.Client, session: str, shown: Transcript, given: Any
) -> None:
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "ask", "arguments": given}]}
    history = [said("user", "hello"), call, said("user", "go on"), said("assistant", "done")]
    for end in (2, 4, 4):  # the last time, nothing is new
        attributes = attributes_of_call(session, history[: end - 1], history[end - 1 : end])
        assert not rejected(send(api, span_json(attributes, span=end)))
    told = shown(session)
    assert [text for _, text in told][::2] == ["hello", "go on"]
    assert len(told) == 4
    entries = api.get(f"/v1/sessions/{session}/transcript").json()["entries"]
    assert json.loads(entries[1]["data"]["json"]) == call


@pytest.mark.parametrize(
    "odd",
    [{"k" * 300: "long"}, {f"k{number}": number for number in range(1_200)}],
    ids=["a long key", "many"],
)
def test_attributes_that_no_entry_may_have_lose_no_message__IN_13(
    api: httpx.Client, session: str, shown: Transcript, odd: dict[str, Any]
) -> None:
    attributes = attributes_of_call(session, [said("user", "hello")], [said("assistant", "hi")])
    assert not rejected(send(api, span_json({**attributes, **odd}, span=1)))
    assert [text for _, text in shown(session)] == ["hello", "hi"]
    events = api.get(f"/v1/sessions/{session}/events").text
    assert next(iter(odd)) in events, "it is in the hidden entry of the span"


def test_a_conversation_goes_on_after_nan__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    for span in calls(session, {"price": math.nan}) * 2:  # the second time, nothing is new
        assert not rejected(send(api, span))
    told = shown(session)
    assert told[4][1] == '{"price":"nan"}'
    assert [text for _, text in told][-3:] == ["done reading", "later question", "later answer"]


def test_the_text_is_stored_as_it_came__IN_13(api: httpx.Client, session: str) -> None:
    for span in calls(session, ODD["NUL"]):
        send(api, span)
    entries = api.get(f"/v1/sessions/{session}/transcript").json()["entries"]
    original = json.loads(entries[4]["data"]["json"])
    assert original == day(ODD["NUL"])[-1][4]


def test_a_part_that_no_entry_has_room_for_is_stored_beside_it__IN_13(
    api: httpx.Client, session: str, shown: Transcript
) -> None:
    content, text = b64encode(Random(13).randbytes(4_900_000)).decode(), "Many words. " * 550_000
    picture = {"type": "blob", "mime_type": "image/png", "content": content}
    found = {}
    for name, part in ((f"{session}-picture", picture), (session, {"type": "text", "content": text})):
        asked = {"role": "user", "parts": [part]}
        for _ in range(2):  # the second time, nothing is new
            span = span_json(attributes_of_call(name, [asked], [said("assistant", "A plum.")]), span=1)
            assert not rejected(send(api, span))
        assert shown(name)[1:] == [("assistant", "A plum.")]
        (entry, *_) = api.get(f"/v1/sessions/{name}/transcript").json()["entries"]
        kept = api.get(f"/v1/sessions/{name}/kept", params={"space": SPACE}).json()["values"]
        found[name] = put_back(entry["data"], {each["key"]: b64decode(each["base64"]) for each in kept})
    assert found == {f"{session}-picture": {"part": picture}, session: {"text": text}}


def test_a_message_with_large_fields_of_its_own_is_stored__IN_13(
    api: httpx.Client, session: str, shown: Transcript
) -> None:
    asked = {**said("user", "hello"), "name": "mara", "sources": ["a garden book"] * 2_000}
    for _ in range(2):  # the second time, nothing is new
        span = span_json(attributes_of_call(session, [asked], [said("assistant", "hi")]), span=1)
        assert not rejected(send(api, span))
    assert shown(session) == [("user", "hello"), ("assistant", "hi")]
    (entry, *_) = api.get(f"/v1/sessions/{session}/transcript").json()["entries"]
    assert entry["data"]["metadata"]["sources"] == asked["sources"]


def test_odd_text_in_a_request_of_protobuf__IN_13(
    service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    attributes = attributes_of_call(session, [said("user", "hello")], [said("assistant", "hi")])
    result = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": session,
        "gen_ai.tool.name": "read",
        "gen_ai.tool.call.result": ODD["NUL"] + ODD["too long"],
    }
    endpoint = f"{service.url}{TRACES}?namespace={namespace}"
    assert exported(endpoint, [ended_span(attributes), ended_span(result)], compression=Compression.Gzip)
    assert shown(session) == [("user", "hello"), ("assistant", "hi")]


def test_a_reader_that_takes_text_as_it_is_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the change of the text, a call is unreadable, or its entry over a limit."""
    monkeypatch.setattr(reported_calls, "_readable", lambda message: message)
    monkeypatch.setattr(message_parts, "fitted", lambda entry: entry)
    found = [message_parts.entries_of_messages(day(text)[-1]) for text in ODD.values()]
    contents = [list(entries)[4].entry["content"] for entries in found]
    assert contents == list(ODD.values())
