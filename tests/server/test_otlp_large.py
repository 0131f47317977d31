"""A large OTLP request is answered before its exporter gives up, also while the helper starts. Source: trust S-17."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from opentelemetry.sdk.trace import ReadableSpan

from ledger.server.heavy_requests import LARGE_B
from tests.server.test_heavy_requests import messages
from tests.support.databases import Server
from tests.support.model_spans import attributes_of_call, ended_span, exported, said
from tests.support.reported_days import TRACES
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.postgres, pytest.mark.processes]

#: What the exporter waits for if nothing else is set.
PATIENCE_S = 10.0


def large_spans(conversation: str) -> list[ReadableSpan]:
    words = "Which beans grow in the shade of the wall? " * 200
    before = [said("user", f"{number}: {words}") for number in range(2 * LARGE_B // len(words))]
    return [ended_span(attributes_of_call(conversation, before, [said("assistant", "Scarlet runners.")]))]


@contextmanager
def serving(folder: Path, server: Server, database: str) -> Iterator[ServiceProcess]:
    with server.login("ledger_app") as login:
        service = ServiceProcess(folder, server.url_of(login, database))
        try:
            service.wait_until_it_serves()
            yield service
        finally:
            service.process.terminate()
            assert service.process.wait(60) == 0


def helpers_of(service: ServiceProcess) -> list[psutil.Process]:
    children = psutil.Process(service.process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


@contextmanager
def helper_that_does_not_start(service: ServiceProcess) -> Iterator[None]:
    """Stop the helper as soon as there is one, until the context ends."""
    stopped: list[psutil.Process] = []
    ended = threading.Event()

    def watch() -> None:
        while not stopped and not ended.is_set():
            for child in helpers_of(service):
                child.send_signal(signal.SIGSTOP)
                stopped.append(child)
            time.sleep(0.002)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
        assert stopped, "no helper was started"
    finally:
        ended.set()
        watching.join()
        for child in stopped:
            child.send_signal(signal.SIGCONT)


@pytest.mark.full
def test_the_first_large_request_does_not_wait_for_the_helper__IN_13(
    tmp_path: Path, server: Server, shared_database: str, namespace: str
) -> None:
    """A large PUT does wait, so the helper really stood still. Later OTLP requests go to it."""
    with serving(tmp_path, server, shared_database) as service, httpx.Client(base_url=service.url) as client:
        endpoint, where = f"{service.url}{TRACES}?namespace={namespace}", {"namespace": namespace}
        with helper_that_does_not_start(service):
            began = time.monotonic()
            assert exported(endpoint, large_spans("one"), timeout=PATIENCE_S)
            print(f"answered after {time.monotonic() - began:.2f} s")
            put = {"url": "/v1/working-memory/s", "params": where, "json": messages(2 * LARGE_B // 200)}
            with pytest.raises(httpx.ReadTimeout):
                client.put(**put, timeout=2)
            assert exported(endpoint, large_spans("two"), timeout=PATIENCE_S)
        assert client.put(**put, timeout=60).status_code == 200
        (helper,) = helpers_of(service)
        before = sum(helper.cpu_times()[:2])
        assert exported(endpoint, large_spans("three"), timeout=PATIENCE_S)
        assert sum(helper.cpu_times()[:2]) > before
        for name in ("one", "two", "three"):
            context = client.get(f"/v1/sessions/{name}/stats", params=where)
            assert context.status_code == 200


@pytest.mark.full
def test_a_service_ends_at_once_while_its_helper_starts(tmp_path: Path, server: Server, shared_database: str) -> None:
    """Nothing is left of the helper, and the service ends with 0."""
    with serving(tmp_path, server, shared_database) as service:
        assert exported(f"{service.url}{TRACES}", large_spans("ends"), timeout=PATIENCE_S)
        until_s = time.monotonic() + 60
        while not (helpers := helpers_of(service)):
            assert time.monotonic() < until_s
    psutil.wait_procs(helpers, 60)
    assert not any(helper.is_running() for helper in helpers)
