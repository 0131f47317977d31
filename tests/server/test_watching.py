"""What is seen from outside: logs and spans, and no content in either (trust P-16)."""

import asyncio
import io
import json
import logging
import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ledger.application.handle import NamespaceHandle
from ledger.errors import EmbedderFailed, SummarizerFailed
from ledger.memory import MemoryLedger
from ledger.server.traffic import logs, tracing
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.wire import exchange, head

MARKER = "xyzzy"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root of all logs, put back afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


async def remember(service: Running) -> None:
    """Write content, and let its summaries fail with more of it."""
    ledger = MemoryLedger(NamespaceHandle(service.service.services, "default", "agent"))
    text = f"cannot summarise {MARKER}"
    small = {"max_entries": 4, "recent_window": 2, "min_entries_to_compress": 2}
    instead = {"compactions": [{"type": "token_threshold", **small, "on_failure": "heuristic"}]}
    for session, fault, config in (
        ("session", RuntimeError(text), small),
        ("other", SummarizerFailed("error", text), small),
        ("third", SummarizerFailed("error", text), instead),
    ):
        ledger.set_summarizer(None, raising(fault))
        for number in range(12):
            await ledger.add_user_message(f"{MARKER}-{session}", f"{MARKER} {number} " * 50)
        await ledger.update_config(f"{MARKER}-{session}", config)
        await ledger.add_user_message(f"{MARKER}-{session}", MARKER)
        await ledger.settle()


def raising(fault: Exception) -> Callable[[str], str]:
    def summarize(prompt: str) -> str:
        raise fault

    return summarize


def meet_every_error(service: Running) -> set[int]:
    """Put the marker everywhere it can be put, and return the statuses met."""
    json_ = {"content-type": "application/json", "authorization": f"Bearer {MARKER}", f"x-{MARKER}": MARKER}
    bodies = [
        json.dumps({"role": MARKER}).encode(),
        json.dumps({MARKER: MARKER}).encode(),
        json.dumps({"role": [MARKER], "count": MARKER}).encode(),
        f'{{"{MARKER}'.encode(),
        f'{{"{MARKER}":1,"{MARKER}":2}}'.encode(),
        b'{"role":"' + MARKER.encode() + b'\\u0000"}',
        MARKER.encode() * 2_000_000,
    ]
    with httpx.Client(base_url=service.url, headers=json_) as client:
        met = [client.post(path, content=body) for path in ("/v1/probe", "/v1/memory/probe") for body in bodies]
        met += [
            client.get(path)
            for path in (
                f"/v1/sessions/{MARKER}-session/stats",
                f"/v1/sessions/{MARKER}%00/stats",
                f"/v1/sessions/s/stats?user_id={MARKER}%00&{MARKER}={MARKER}",
                f"/{MARKER}",
                f"/v1/probe/crash?text={MARKER}",
                f"/v1/probe/list?limit={MARKER}",
                f"/v1/probe/who?namespace={MARKER}",
                "/v1/probe/conflict",
                "/v1/probe/away",
            )
        ]
        met.append(client.request(MARKER.upper(), "/v1/probe"))
        met.append(client.get("/v1/health", headers={"host": f"{MARKER}/{MARKER}"}))
        met.append(client.get("/v1/health", headers={"x-large": MARKER * 10_000}))
    raw = exchange(service, head("POST", f"/{MARKER}", "Content-Length: x", MARKER), MARKER.encode())
    return {*(answer.status_code for answer in met), raw.status}


def test_logs_hold_no_content_whatever_happens(root: logging.Logger) -> None:
    """trust P-16: at DEBUG, in every error path; a plain log, the negative control, holds some."""
    ours, plain = io.StringIO(), io.StringIO()
    logs.configure("DEBUG", ours)
    root.addHandler(logging.StreamHandler(plain))
    with running(InMemoryStore(), log_level="DEBUG") as in_flight:
        asyncio.run_coroutine_threadsafe(remember(in_flight), in_flight.loop).result(20)
        statuses = meet_every_error(in_flight)
    assert {200, 400, 404, 409, 413, 422, 431, 500, 503} <= statuses
    assert MARKER in plain.getvalue(), "the control saw nothing"
    assert MARKER not in ours.getvalue().lower()
    lines = [json.loads(line) for line in ours.getvalue().splitlines()]
    compactions = [line["event"] for line in lines if line["event"].startswith("the compaction ")]
    ends = [re.sub("^.* stream [0-9a-f-]{36} ", "", event) for event in compactions]
    assert [*ends[:2], ends[-1].split(", ")[-1]] == [
        "failed: error",
        "failed: error",
        "by the extractive summarizer: error",
    ]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(requests) >= 20
    assert {"time", "level", "logger", "request_id", "method", "route", "status", "bytes_in", "ms"} <= requests[
        0
    ].keys()
    crashed = [line for line in lines if line["event"].endswith("crashed")]
    assert crashed[0]["error"] == "RuntimeError"
    assert any(frame.startswith("crash:") for frame in crashed[0]["at"])


def test_errors_among_the_values_of_a_log_line_are_shown_by_their_code() -> None:
    record = logging.LogRecord("ledger", 30, "x.py", 1, "by words: %s, %s", (EmbedderFailed(MARKER), "kept"), None)
    assert json.loads(logs.JsonLines().format(record))["event"] == "by words: embedder_failed, kept"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What would be exported."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "provider", lambda: provider)
    return exporter


@pytest.mark.postgres
def test_a_request_and_an_append_are_spans_without_content(
    spans: InMemorySpanExporter, server: Server, shared_database: str, namespace: str
) -> None:
    """trust S-16."""
    trace = "0af7651916cd43dd8448eb211c80319c"

    async def append(service: Running) -> None:
        ledger = MemoryLedger(NamespaceHandle(service.service.services, namespace))
        await ledger.add_user_message(MARKER, MARKER)

    with running(server.target(shared_database), tracing=True) as in_flight:
        headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        http_client.get(f"{in_flight.url}/v1/sessions/{MARKER}/stats", params={"user_id": MARKER}, headers=headers)
        http_client.get(f"{in_flight.url}/v1/sessions/s/stats?{MARKER}=1")
        asyncio.run_coroutine_threadsafe(append(in_flight), in_flight.loop).result(10)
    found = {span.name: span for span in spans.get_finished_spans()}
    request = found["GET /v1/sessions/{session_id}/stats"]
    assert found["append"].attributes == {"ledger.events": 2}
    assert trace in {f"{span.context.trace_id:032x}" for span in spans.get_finished_spans()}
    assert request.attributes["error.type"] == "unknown_field"
    assert MARKER not in "".join(span.to_json() for span in spans.get_finished_spans())


def test_there_are_no_spans_by_default(spans: InMemorySpanExporter) -> None:
    with running(InMemoryStore()) as in_flight:
        http_client.get(f"{in_flight.url}/v1/sessions/s/stats")
    assert spans.get_finished_spans() == ()
