"""http C1: health."""

import httpx

from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.in_memory.event_store import InMemoryEventStore
from tests.server.conftest import Running, running
from tests.support import http_client


def test_health_is_the_time_in_whole_milliseconds(service: Running) -> None:
    """http W-13."""
    before = _now_ms()
    answer = http_client.get(f"{service.url}/v1/health")
    assert answer.status_code == 200
    assert answer.json().keys() == {"now"}
    assert isinstance(answer.json()["now"], int)
    assert before <= answer.json()["now"] <= _now_ms()


def test_stats_of_an_unknown_session_are_not_found(api: httpx.Client) -> None:
    answer = api.get("/v1/sessions/nobody/stats")
    assert (answer.status_code, answer.json()["code"]) == (404, "session_not_found")


def test_readiness_says_that_the_log_went_back() -> None:
    """trust K-2: requests are answered from the log as it is, and an operator learns that events are lost."""
    store = InMemoryStore()
    events = store.events
    assert isinstance(events, InMemoryEventStore)
    with running(store, worker=False) as item:
        for text in ("one", "two"):
            said = {"entries": [{"role": "user", "content": text}]}
            assert http_client.post(f"{item.url}/v1/sessions/s/entries", json=said).status_code == 201
        session = f"{item.url}/v1/sessions/s/state"
        assert http_client.get(session).status_code == 200
        assert http_client.get(f"{item.url}/readyz").json()["checks"]["log"] == "ok"
        (namespace,) = events._namespaces.values()
        del namespace.log[-1], namespace.streams[Stream.of("default", "s").stream_id][-1]
        lost = http_client.get(session)
        assert (lost.status_code, lost.json()["code"]) == (503, "log_rolled_back")
        assert http_client.get(session).status_code == 200
        ready = http_client.get(f"{item.url}/readyz")
        assert (ready.status_code, ready.json()["status"], ready.json()["checks"]["log"]) == (
            200,
            "ready",
            "log_rolled_back",
        )


def _now_ms() -> int:
    return int(SystemClock().now().timestamp() * 1000)
