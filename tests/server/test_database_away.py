"""Requests while the database goes away and comes back: 200 or 503, and nothing in between (trust P-13, http W-5)."""

import threading
import time

import pytest

from tests.server.conftest import running
from tests.support import http_client
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


def test_connections_that_are_cut_are_ridden_out(server: Server, fresh_database: str) -> None:
    """trust F-5, I-83: every backend is ended again and again; at the end all is well at once."""
    statuses: list[int] = []
    late: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            began = time.monotonic()
            answer = http_client.get(f"{in_flight.url}/v1/sessions/s/stats")
            statuses.append(answer.status_code)
            assert answer.status_code != 503 or "retry-after" in answer.headers
            late.append(time.monotonic() - began)

    with running(server.target(fresh_database)) as in_flight, server.superuser(fresh_database) as mighty:
        texts = {"entries": [{"role": "user", "content": "hello"}]}
        assert http_client.post(f"{in_flight.url}/v1/sessions/s/entries", json=texts).status_code == 201
        asking_ = [threading.Thread(target=ask) for _ in range(3)]
        for thread in asking_:
            thread.start()
        for _ in range(20):
            mighty.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            time.sleep(0.05)
        over.set()
        for thread in asking_:
            thread.join()
        assert http_client.get(f"{in_flight.url}/v1/sessions").status_code == 200
    assert set(statuses) <= {200, 503}
    assert 200 in statuses
    assert max(late) < 10
