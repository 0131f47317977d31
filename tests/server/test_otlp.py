"""Live intake of OTLP: by the real exporter of OpenTelemetry, into a real service. Source: adapters IN-3, IN-13."""

import asyncio
import gzip
import json
import random
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ledger.application import recorded_calls
from ledger.memory import MemoryLedger
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.model_spans import (
    asked,
    attributes_of_call,
    ended_span,
    exported,
    logs_json,
    pairs_json,
    returned,
    said,
    span_json,
    traces_json,
)
from tests.support.token_keeper import Keeper

pytestmark = pytest.mark.postgres

HI, HELLO = said("user", "Hi"), said("assistant", "Hello, what is it?")
WHERE, CALL, GAVE = said("user", "Where is 8812?"), asked("c1", "find", order=8812), returned("c1", {"at": "depot"})
ANSWER = said("assistant", "In the depot.")
TRACES = "/v1/otlp/v1/traces"

Transcript = Callable[[str], list[tuple[str, str]]]


@pytest.fixture
def shown(service: Running, namespace: str) -> Transcript:
    """The transcript of a session, without what is hidden: kind or role, and text; empty if there is none."""
    ledger = MemoryLedger(service.service.services.handle(namespace, "reader"))

    def entries(session: str) -> list[tuple[str, str]]:
        reading = asyncio.run_coroutine_threadsafe(ledger.get_transcript(session), service.loop)
        found = reading.result(30)
        return [(each.role if each.kind == "message" else each.kind, each.content) for each in found]

    return entries


def send(api: httpx.Client, *spans: dict[str, Any]) -> httpx.Response:
    answer = api.post(TRACES, json=traces_json(*spans))
    assert answer.status_code == 200, answer.text
    return answer


DAY = [
    ([HI], [HELLO]),
    ([HI, HELLO, WHERE], [CALL]),
    ([HI, HELLO, WHERE, CALL, GAVE], [ANSWER]),
]
WHOLE = [
    ("user", "Hi"),
    ("assistant", "Hello, what is it?"),
    ("user", "Where is 8812?"),
    ("tool_call", 'find({"order":8812})'),
    ("tool_result", '{"at":"depot"}'),
    ("assistant", "In the depot."),
]


@pytest.mark.parametrize("compression", list(Compression))
def test_the_exporter_of_opentelemetry_is_understood__IN_13(
    service: Running, api: httpx.Client, namespace: str, session: str, shown: Transcript, compression: Compression
) -> None:
    """Source: adapters IN-13."""
    spans = [ended_span(attributes_of_call(session, before, after)) for before, after in DAY]
    endpoint = f"{service.url}{TRACES}?namespace={namespace}"
    for batch in (spans[:2], spans[2:], spans):  # the last one is a retry
        assert exported(endpoint, batch, compression=compression)
    assert shown(session) == WHOLE
    assert not shown(f"{session}~2")


def test_order_retries_and_batches_do_not_matter__IN_3(
    api: httpx.Client, session: str, shown: Transcript, seed: int
) -> None:
    """Source: adapters IN-3."""
    spans = [span_json(attributes_of_call(session, *each), span=at + 1) for at, each in enumerate(DAY)]
    chosen = random.Random(seed)
    for turn in range(4):
        name = f"{session}-{turn}"
        sent = [json.loads(json.dumps(span).replace(session, name)) for span in spans]
        sent += chosen.sample(sent, 2)
        chosen.shuffle(sent)
        while sent:
            count = chosen.randint(1, len(sent))
            send(api, *sent[:count])
            del sent[:count]
        assert shown(name) == WHOLE
        records = [
            event
            for event in api.get(f"/v1/sessions/{name}/events").json()["events"]
            if event["type"] == "entry.added" and str(event["payload"]["entry_id"]).startswith("otel-")
        ]
        assert len(records) == 3, "one record for each span"


def test_writers_at_once_lose_nothing_and_double_nothing__IN_13(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """Source: adapters IN-13."""
    history, spans = [], []
    for turn in range(12):
        question, reply = said("user", f"question {turn}"), said("assistant", f"answer {turn}")
        history.append(question)
        spans.append(span_json(attributes_of_call(session, [*history], [reply]), span=turn + 1))
        history.append(reply)

    def post(span: dict[str, Any]) -> int:
        body = traces_json(span)
        with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=60) as client:
            return client.post(TRACES, json=body).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, [*spans, *reversed(spans)])) == {200}
    found = [text for _, text in shown(session)]
    assert found == [text for turn in range(12) for text in (f"question {turn}", f"answer {turn}")]
    assert not shown(f"{session}~2")


def test_two_answers_to_one_question_are_two_branches__IN_3(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """The rule's negative control: without a compare of tool calls these would be one. Source: adapters IN-3."""
    other = asked("c1", "find", order=9999)
    spans = [
        span_json(attributes_of_call(session, [HI], [CALL]), span=1),
        span_json(attributes_of_call(session, [HI], [other]), span=2),
        span_json(attributes_of_call(session, [HI, other, GAVE], [ANSWER]), span=3),
        span_json(attributes_of_call(session, [said("user", "A title, please")], [said("assistant", "8812")]), span=4),
    ]

    def post(span: dict[str, Any]) -> int:
        with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=60) as client:
            return client.post(TRACES, json=traces_json(span)).status_code

    for span in spans:
        send(api, span)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, spans * 4)) == {200}
    calls = {shown(session)[1][1], shown(f"{session}~2")[1][1]}
    assert calls == {'find({"order":8812})', 'find({"order":9999})'}
    assert shown(f"{session}~2")[-1] == ("assistant", "In the depot.")
    assert shown(f"{session}~3") == [("user", "A title, please"), ("assistant", "8812")]
    assert not shown(f"{session}~4")


def test_branches_that_begin_at_once_are_each_stored_once__IN_3(
    service: Running, namespace: str, session: str, api: httpx.Client, shown: Transcript
) -> None:
    """Source: adapters IN-3."""
    send(api, span_json(attributes_of_call(session, [HI], [HELLO]), span=1))
    spans = [
        span_json(attributes_of_call(session, [HI], [said("assistant", f"answer {turn}")]), span=turn + 2)
        for turn in range(5)
    ]

    def post(span: dict[str, Any]) -> int:
        with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=60) as client:
            return client.post(TRACES, json=traces_json(span)).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, spans * 3)) == {200}
    found = sorted(shown(f"{session}~{number}")[-1][1] for number in range(2, 7))
    assert found == [f"answer {turn}" for turn in range(5)]
    assert not shown(f"{session}~7")


def test_what_was_not_captured_is_counted__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    """Source: adapters IN-13."""
    bare = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": session}
    other = {"http.request.method": "GET"}
    answer = send(api, span_json(bare, span=1), span_json(other, span=2), span_json({**bare, "n": 2}, span=3))
    partial = answer.json()["partialSuccess"]
    assert "rejectedSpans" not in partial
    assert partial["errorMessage"].startswith("2 calls of models without content; set OTEL_INSTRUMENTATION_GENAI")
    assert not shown(session)
    assert send(api, span_json(other, span=2)).json() == {}


def test_messages_in_a_log_record_are_read__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    """Structured, as events have them; the span that has them too adds nothing. Source: adapters IN-13."""
    attributes = attributes_of_call(session, [HI], [HELLO])
    structured = {
        **attributes,
        "gen_ai.system_instructions": [{"type": "text", "content": "Be kind."}],
        "gen_ai.input.messages": [HI],
        "gen_ai.output.messages": [HELLO],
    }
    record = {
        "timeUnixNano": "1770000000000000000",
        "eventName": "gen_ai.client.inference.operation.details",
        "traceId": f"{1:032x}",
        "spanId": f"{1:016x}",
        "attributes": pairs_json(structured),
    }
    for _ in range(2):
        assert api.post("/v1/otlp/v1/logs", json=logs_json(record)).json() == {}
    wanted = [("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello, what is it?")]
    assert shown(session) == wanted


def test_a_bad_body_is_refused_whole__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    """Source: adapters IN-13."""
    good = json.dumps(traces_json(span_json(attributes_of_call(session, [HI], [HELLO]), span=1))).encode()
    packed = gzip.compress(good)
    as_json, as_protobuf = {"content-type": "application/json"}, {"content-type": "application/x-protobuf"}
    bomb = zlib.compress(b" " * 64_000_000)
    cases = [
        (good, {"content-type": "text/plain"}, 415),
        (good, {**as_json, "content-encoding": "br"}, 415),
        (good, {**as_json, "content-encoding": "gzip"}, 400),
        (packed[:-9], {**as_json, "content-encoding": "gzip"}, 400),
        (packed + b"x", {**as_json, "content-encoding": "gzip"}, 400),
        (bomb, {**as_json, "content-encoding": "deflate"}, 413),
        (b"{", as_json, 400),
        (b'{"resourceSpans": 1}', as_json, 422),
        (b'{"resourceSpans": [{"scopeSpans": [{"spans": [1]}]}]}', as_json, 422),
        (b"\xff\xff\xff", as_protobuf, 400),
    ]
    for body, headers, status in cases:
        answer = api.post(TRACES, content=body, headers=headers)
        assert answer.status_code == status, (headers, answer.text)
        assert "8812" not in answer.text
    assert not shown(session)
    assert api.post(TRACES, content=packed, headers={**as_json, "content-encoding": "gzip"}).status_code == 200
    assert shown(session) == WHOLE[:2]


def test_a_protobuf_request_has_a_protobuf_answer__IN_13(api: httpx.Client, session: str) -> None:
    """Source: adapters IN-13."""
    headers = {"content-type": "application/x-protobuf"}
    good = attributes_of_call(session, [HI], [HELLO])
    for attributes, warned in ((good, False), ({"gen_ai.operation.name": "chat"}, True)):
        body = encode_spans([ended_span(attributes)]).SerializeToString()
        answer = api.post(TRACES, content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-protobuf")
        partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
        assert (partial.rejected_spans, partial.error_message.startswith("1 calls")) == (0, warned)


def test_an_agent_span_that_repeats_its_calls_makes_no_branch__IN_7(
    api: httpx.Client, session: str, shown: Transcript
) -> None:
    """Source: adapters IN-7."""
    agent = attributes_of_call(session, [HI, HELLO, WHERE], [ANSWER], gen_ai__operation__name="invoke_agent")
    spans = [span_json(attributes_of_call(session, *each), span=at + 2) for at, each in enumerate(DAY)]
    send(api, span_json(agent, span=1, at=9), *spans)
    assert shown(session) == WHOLE
    assert not shown(f"{session}~2")


def test_no_content_reaches_the_log__IN_13(api: httpx.Client, session: str, caplog: pytest.LogCaptureFixture) -> None:
    """Source: adapters IN-13."""
    secret = "orchid-7731"
    long = said("user", secret * 200_000)
    good = attributes_of_call(session, [said("user", secret)], [HELLO])
    broken = {**good, "gen_ai.input.messages": f'[{{"role": "user", "content": "{secret}'}
    with caplog.at_level("DEBUG", "ledger"):
        answer = send(
            api,
            span_json(good, span=1),
            span_json(broken, span=2),
            span_json(attributes_of_call(f"{session}-b", [long], [HELLO]), span=3),
        )
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert secret not in answer.text
    ours = [record for record in caplog.records if record.name.startswith("ledger")]
    assert ours, "what was not stored as messages is logged"
    assert not [record for record in ours if secret in str(record.__dict__)]


def test_instructions_that_change_begin_no_branch__IN_7(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """Source: adapters IN-7."""
    for number, each in enumerate(DAY):
        first = [said("system", f"It is {number} o'clock.")] if number == 2 else []
        attributes = attributes_of_call(session, [*first, *each[0]], each[1])
        if not first:
            attributes["gen_ai.system_instructions"] = f'[{{"type": "text", "content": "It is {number} o\'clock."}}]'
        send(api, span_json(attributes, span=number + 1))
    assert shown(session) == [("system", "It is 0 o'clock."), *WHOLE]
    assert not shown(f"{session}~2")
    ledger = MemoryLedger(service.service.services.handle(namespace, "reader"))
    history = asyncio.run_coroutine_threadsafe(ledger.get_history(session), service.loop).result(30)
    assert [each.content for each in history.entries if each.role == "system"][1:] == [
        "It is 1 o'clock.",
        "It is 2 o'clock.",
    ]


def test_a_request_of_many_spans_is_few_writes_and_loses_only_what_is_refused__IN_13(
    api: httpx.Client, session: str, shown: Transcript
) -> None:
    """The batch of an exporter must be stored before the exporter gives up. Source: adapters IN-13."""
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.conversation.id": session,
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.call.result": "depot",
    }
    spans = [span_json(attributes_of_call(session, *each), span=2 * at + 2) for at, each in enumerate(DAY)]
    large = attributes_of_call(session, [*DAY[2][0], ANSWER, said("user", "x" * 1_100_000)], [HELLO])
    answer = send(api, *spans, span_json(tool, span=5), span_json(large, span=9))
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert shown(session) == WHOLE
    other = f"{session}-b"
    send(api, *json.loads(json.dumps([*spans, span_json(tool, span=5)]).replace(session, other)))
    assert shown(other) == WHOLE
    events = api.get(f"/v1/sessions/{other}/events").json()["events"]
    assert len({event["payload"]["write_id"] for event in events if event["type"] != "session.opened"}) == 1


def test_a_session_that_was_cleared_or_edited_goes_on__IN_3(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """What a person removes does not come back with the next call, which repeats it. Source: adapters IN-3."""
    ledger = MemoryLedger(service.service.services.handle(namespace, "ann"))

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, service.loop).result(30)

    spans = [span_json(attributes_of_call(session, *each), span=at + 1) for at, each in enumerate(DAY)]
    send(api, spans[0])
    hi, hello = run(ledger.get_transcript(session))
    run(ledger.remove_entry(session, hello.entry_id))
    run(ledger.edit_entry(session, hi.entry_id, "Hi there"))
    run(ledger.add_user_message(session, "a note of mine"))
    send(api, spans[1])
    assert shown(session) == [("user", "Hi there"), ("user", "a note of mine"), *WHOLE[2:4]]
    run(ledger.clear_session(session))
    send(api, spans[2])
    assert shown(session) == WHOLE
    assert not shown(f"{session}~2")


def test_a_session_with_many_branches_stays_fast_and_loses_nothing__IN_3(
    api: httpx.Client, session: str, shown: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: adapters IN-3."""
    monkeypatch.setattr(recorded_calls, "MOST_BRANCHES", 2)
    answers = [said("assistant", f"answer {number}") for number in range(4)]
    spans = [span_json(attributes_of_call(session, [HI], [each]), span=at + 1) for at, each in enumerate(answers)]
    spans.append(span_json(attributes_of_call(session, [said("user", "A title")], [HELLO]), span=9))
    for span in [*spans, *spans]:
        send(api, span)
    names = [each["session_id"] for each in api.get("/v1/sessions").json()["sessions"]]
    assert len(names) == 5
    last = {tuple(text for _, text in shown(name)) for name in names}
    assert last == {*(("Hi", f"answer {number}") for number in range(4)), ("A title", "Hello, what is it?")}


def test_a_refused_branch_leaves_no_fork__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    """Source: adapters IN-13."""
    send(api, span_json(attributes_of_call(session, [HI], [HELLO]), span=1))
    large = attributes_of_call(session, [HI], [said("assistant", "x" * 1_100_000)])
    assert send(api, span_json(large, span=2)).json()["partialSuccess"]["rejectedSpans"] == "1"
    assert not shown(f"{session}~2")
    assert api.get(f"/v1/sessions/{session}~2/stats").status_code == 404


@pytest.fixture(scope="module")
def guarded(server: Server, shared_database: str) -> Iterator[Running]:
    """A service that wants tokens."""
    with running(server.target(shared_database), auth_mode="token", max_body_bytes=100_000) as item:
        yield item


def test_the_token_of_the_exporter_decides__IN_13(
    guarded: Running, server: Server, shared_database: str, namespace: str, session: str
) -> None:
    """Scopes and the namespace are those of all routes, and a message is not lost silently. Source: adapters IN-13."""
    keeper = Keeper(server.database(shared_database))
    ours = f"{namespace}-ours"
    spans = [
        ended_span(attributes_of_call(session, [HI], [HELLO])),
        ended_span(
            attributes_of_call(
                f"{session}-b", [HI], [HELLO], gen_ai__system_instructions='[{"type": "text", "content": "Be kind."}]'
            )
        ),
    ]
    url = f"{guarded.url}{TRACES}"
    assert not exported(url, spans)
    assert not exported(url, spans, headers={"authorization": f"Bearer {keeper.add('read', namespaces=(ours,))}"})
    writer = {"authorization": f"Bearer {keeper.add('write', namespaces=(ours,))}"}
    assert exported(url, spans, headers=writer)
    body = encode_spans(spans).SerializeToString()
    answer = http_client.post(url, content=body, headers={**writer, "content-type": "application/x-protobuf"})
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans == 1
    assert "scope system" in partial.error_message
    assert http_client.get(f"{guarded.url}/v1/sessions/{session}/stats", headers=writer).status_code == 403

    ledger = MemoryLedger(guarded.service.services.handle(ours, "reader"))

    def texts(name: str) -> list[str]:
        found = asyncio.run_coroutine_threadsafe(ledger.get_transcript(name), guarded.loop).result(30)
        return [entry.content for entry in found]

    assert (texts(session), texts(f"{session}-b")) == (["Hi", HELLO["parts"][0]["content"]], [])
    both = {"authorization": f"Bearer {keeper.add('write', 'system', namespaces=(ours,))}"}
    assert exported(url, spans, headers=both)
    assert texts(f"{session}-b")[0] == "Be kind."
    large = ended_span(attributes_of_call(session, [said("user", "x" * 100_001)], [HELLO]))
    assert not exported(url, [large], headers=both)
    assert not exported(url, [large], headers=both, compression=Compression.Gzip)
