"""http C1: health."""

import httpx

from ledger.clock import SystemClock
from tests.server.conftest import Running
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


def _now_ms() -> int:
    return int(SystemClock().now().timestamp() * 1000)
