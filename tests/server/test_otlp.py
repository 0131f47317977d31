"""Live intake of OTLP: by the real exporter of OpenTelemetry, into a real service. Source: adapters IN-3, IN-13."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterator

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ledger.application.handle import NamespaceHandle
from ledger.memory import MemoryLedger
from tests.importers.test_otlp_dialects import SHOWN, SPANS
from tests.importers.test_otlp_dialects import span as dialect_span
from tests.server.conftest import Running, Transcript, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.model_spans import (
    attributes_of_call,
    ended_span,
    exported,
    logs_json,
    pairs_json,
    said,
    span_json,
    traces_json,
)
from tests.support.reported_days import ANSWER, DAY, HELLO, HI, TRACES, WHOLE, send
from tests.support.token_keeper import Keeper

pytestmark = pytest.mark.postgres


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


def test_what_was_not_captured_is_counted__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    """Source: adapters IN-13."""
    bare = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": session}
    other = {"http.request.method": "GET"}
    spans = span_json(bare, span=1), span_json(other, span=2), span_json({**bare, "n": 2}, span=3)
    answer = api.post(TRACES, json=traces_json(*spans))
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing_stored")
    assert "2 calls of models without content; set OTEL_INSTRUMENTATION_GENAI" in answer.json()["detail"]
    assert not shown(session)
    partial = send(api, *spans, span_json(attributes_of_call(session, [HI], [HELLO]), span=4)).json()["partialSuccess"]
    assert partial["rejectedSpans"] == "3"
    assert "2 calls of models without content" in partial["errorMessage"]
    assert shown(session) == WHOLE[:2]
    alone = send(api, span_json(other, span=2)).json()["partialSuccess"]
    assert alone == {"rejectedSpans": "1", "errorMessage": "1 records that are not about a model"}


@pytest.mark.parametrize("name", SPANS)
def test_each_dialect_is_read_live_beside_others__IN_21(
    name: str, api: httpx.Client, session: str, shown: Transcript
) -> None:
    """A span of the conventions in the same request hides nothing. Source: adapters IN-21."""
    attributes, events = SPANS[name]
    named = dialect_span({**attributes, "session.id": session, "gen_ai.conversation.id": session}, events, number=8)
    beside = span_json(attributes_of_call(f"{session}-b", [HI], [HELLO]), span=9)
    assert send(api, beside, named).json() == {}
    assert [text for _, text in shown(session)] == SHOWN
    assert shown(f"{session}-b") == WHOLE[:2]
    assert send(api, named).json() == {}


def test_a_dialect_that_is_not_known_is_named__IN_21(api: httpx.Client) -> None:
    """Source: adapters IN-21."""
    odd = span_json({"weird.input": '[{"role": "user", "content": "hi"}]'}, span=1)
    answer = api.post(TRACES, json=traces_json(odd))
    assert answer.status_code == 422
    assert "no known dialect" in answer.json()["detail"]
    assert "OpenInference" in answer.json()["detail"]


def test_a_part_that_is_not_understood_is_told__IN_20(api: httpx.Client, session: str) -> None:
    """Source: adapters IN-20."""
    strange = {"role": "user", "parts": [{"type": "hologram", "beam": 7}]}
    answer = send(api, span_json(attributes_of_call(session, [HI, strange], [HELLO]), span=1))
    assert "1 stored messages with parts that were not understood" in answer.json()["partialSuccess"]["errorMessage"]


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
        body = encode_spans([ended_span(good), ended_span(attributes)]).SerializeToString()
        answer = api.post(TRACES, content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-protobuf")
        partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
        assert (partial.rejected_spans, partial.error_message.startswith("1 calls")) == (int(warned), warned)


def test_a_report_without_spans_is_taken__IN_13(api: httpx.Client) -> None:
    """In protobuf, it is an empty body."""
    for body, media_type in ((b"", "application/x-protobuf"), (b"{}", "application/json")):
        answer = api.post(TRACES, content=body, headers={"content-type": media_type})
        assert (answer.status_code, answer.content) == (200, body)


def test_no_content_reaches_the_log__IN_13(api: httpx.Client, session: str, caplog: pytest.LogCaptureFixture) -> None:
    """Source: adapters IN-13."""
    secret = "orchid-7731"
    long = {"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": secret * 100}]}
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
    call = {"type": "tool_call", "id": "c2", "name": "n" * 1_000, "arguments": {}}
    large = attributes_of_call(session, [*DAY[2][0], ANSWER, {"role": "assistant", "parts": [call]}], [HELLO])
    answer = send(api, *spans, span_json(tool, span=5), span_json(large, span=9))
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert shown(session) == WHOLE
    other = f"{session}-b"
    send(api, *json.loads(json.dumps([*spans, span_json(tool, span=5)]).replace(session, other)))
    assert shown(other) == WHOLE
    events = api.get(f"/v1/sessions/{other}/events").json()["events"]
    assert len({event["payload"]["write_id"] for event in events if event["type"] != "session.opened"}) == 1


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

    ledger = MemoryLedger(NamespaceHandle(guarded.service.services, ours, "reader"))

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
