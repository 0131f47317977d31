"""A small body that unpacks to a large one is a large request: heavy, and charged for. Source: trust S-9, S-17."""

import gzip
import json
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ledger.server.heavy_requests import LARGE_B
from ledger.server.http.compressed_bodies import unpacked_size
from tests.server.test_heavy_requests import helped
from tests.support.databases import Server
from tests.support.patience import within
from tests.support.reported_days import TRACES
from tests.support.service_process import ServiceProcess

NOTHING = [{"key": f"key {number}", "value": {"stringValue": "v" * 20}} for number in range(3)]
LOGS = TRACES.replace("traces", "logs")
PACKED: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}
#: How long health may take while a flood is answered; it was 20 s, and now and then a process waits for a processor.
PATIENCE_S = 2.0


def flood(spans: int) -> dict[str, tuple[str, str, bytes]]:
    """Return bodies that say nothing, of some 130 bytes for each span: path, media type and content of each kind."""
    traces: dict[str, Any] = {"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": NOTHING}] * spans}]}]}
    logs: dict[str, Any] = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"attributes": NOTHING}] * spans}]}]}
    return {
        "traces as JSON": (TRACES, "application/json", json.dumps(traces).encode()),
        "logs as JSON": (LOGS, "application/json", json.dumps(logs).encode()),
        "traces as protobuf": (
            TRACES,
            "application/x-protobuf",
            ParseDict(traces, ExportTraceServiceRequest()).SerializeToString(),
        ),
        "logs as protobuf": (
            LOGS,
            "application/x-protobuf",
            ParseDict(logs, ExportLogsServiceRequest()).SerializeToString(),
        ),
    }


@pytest.mark.sample(3)
@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("kind", flood(1))
def test_a_small_body_that_unpacks_to_a_large_one_goes_to_the_helper__S_17(kind: str, encoding: str) -> None:
    path, media_type, body = flood(3_000)[kind]
    packed = PACKED[encoding](body)
    assert len(packed) < LARGE_B < len(body)
    headers = {"content-type": media_type, "content-encoding": encoding}
    with helped() as (service, inline):
        assert httpx.post(f"{service.url}{path}", content=packed, headers=headers, timeout=60).status_code == 200
        assert inline.paths == [path]
        path, _, body = flood(2)[kind]
        sent = httpx.post(f"{service.url}{path}", content=PACKED[encoding](body), headers=headers, timeout=60)
        assert sent.status_code == 200
        assert len(inline.paths) == 1, "a small one is answered at once"


def test_what_a_body_unpacks_to_is_charged__S_9() -> None:
    path, media_type, body = flood(3_000)["traces as JSON"]
    headers = {"content-type": media_type, "content-encoding": "gzip"}
    with helped(body_bytes_per_day=3 * len(body)) as (service, _):
        packed = gzip.compress(body)
        answers = [
            httpx.post(f"{service.url}{path}", content=packed, headers=headers, timeout=60).status_code
            for _ in range(5)
        ]
    assert answers[:3] == [200, 200, 200]
    assert answers[-1] == 429


def test_a_bomb_is_refused_without_being_unpacked() -> None:
    bomb = gzip.compress(bytes(200_000_000), 9)
    began = time.perf_counter()
    assert 1_000_000 < unpacked_size(bomb, "gzip", 1_000_000) < 1_100_000
    assert time.perf_counter() - began < within(1)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    with helped() as (service, _):
        assert httpx.post(f"{service.url}{TRACES}", content=bomb, headers=headers).status_code == 413


def test_sizes_of_bodies_that_are_no_whole_stream() -> None:
    whole = gzip.compress(b"x" * 1_000)
    assert unpacked_size(whole, "gzip", 10_000) == 1_000
    assert unpacked_size(whole, "br", 10_000) == len(whole)
    assert unpacked_size(b"no gzip", "gzip", 10_000) == 7
    assert unpacked_size(whole[:20], "gzip", 10_000) >= 20


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.processes
@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("kind", flood(1))
def test_health_answers_under_a_compressed_flood__S_17(
    kind: str, encoding: str, tmp_path: Path, server: Server, shared_database: str
) -> None:
    path, media_type, body = flood(12_000)[kind]
    packed, headers = PACKED[encoding](body), {"content-type": media_type, "content-encoding": encoding}
    longest = 0.0
    with server.login("ledger_app") as login:
        service = ServiceProcess(tmp_path, server.url_of(login, shared_database))
        try:
            service.wait_until_it_serves()

            def send(number: int) -> int:
                return httpx.post(f"{service.url}{path}", content=packed, headers=headers, timeout=120).status_code

            with ThreadPoolExecutor(12) as pool, httpx.Client(base_url=service.url, timeout=60) as client:
                sent = [pool.submit(send, number) for number in range(12)]
                while not all(each.done() for each in sent):
                    began = time.perf_counter()
                    assert client.get("/v1/health").status_code == 200
                    longest = max(longest, time.perf_counter() - began)
                    time.sleep(0.02)
                assert {each.result() for each in sent} == {200}
        finally:
            service.process.terminate()
            service.process.wait(60)
    print(f"{len(packed):,} bytes, unpacked {len(body):,}: health took {longest:.2f} s at most")
    assert longest < PATIENCE_S
