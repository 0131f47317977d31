"""The service stops in order: accepted requests finish, streams end."""

import signal
import threading
import time
from pathlib import Path

import httpx
import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.patience import within
from tests.support.service_process import ServiceProcess


def test_a_stopped_service_finishes_accepted_requests(
    tmp_path: Path, server: Server, shared_database: str, namespace: str
) -> None:
    """Accepted requests finish, streams end, and then the command ends; at its start it warns that all may call."""
    with server.login("ledger_app") as login:
        process = ServiceProcess(tmp_path, server.url_of(login, shared_database))
        try:
            process.wait_until_it_serves()
            stats = f"{process.url}/v1/sessions"
            assert http_client.get(stats, params={"namespace": namespace}).status_code == 200
            process.process.send_signal(signal.SIGTERM)
            assert process.process.wait(2) == 0
        finally:
            process.process.kill()
            process.process.wait()
    assert "authentication is off" in process.output.read_text()
    assert "Traceback" not in process.errors.read_text()


def test_streams_end_and_requests_finish_when_the_service_stops() -> None:
    """The reader of a stream sees an end and not an error."""
    answers: list[object] = []
    with running(InMemoryStore()) as in_flight:
        started = threading.Event()

        def follow() -> None:
            try:
                with http_client.stream("GET", f"{in_flight.url}/v1/probe/stream") as stream:
                    for number, _ in enumerate(stream.iter_lines()):
                        if number == 2:
                            started.set()
                answers.append("ended")
            except httpx.TransportError as fault:
                answers.append(fault)

        def ask() -> None:
            answers.append(http_client.get(f"{in_flight.url}/v1/probe/slow").status_code)

        threads = [threading.Thread(target=work) for work in (follow, ask)]
        for thread in threads:
            thread.start()
        assert started.wait(5)
        time.sleep(0.2)  # until the other request is accepted too
        started_at = time.monotonic()
    for thread in threads:
        thread.join(5)
    assert sorted(map(str, answers)) == ["200", "ended"]
    assert time.monotonic() - started_at < within(5)


@pytest.mark.full
@pytest.mark.processes
def test_serving_others_without_authentication_is_refused(tmp_path: Path) -> None:
    """trust S-1: exit 2, one line."""
    process = ServiceProcess(tmp_path, "postgresql://nowhere/none", "--host", "0.0.0.0")
    assert process.process.wait(20) == 2
    assert process.errors.read_text().count("\n") == 1
    assert "loopback" in process.errors.read_text()
