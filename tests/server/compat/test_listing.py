"""Sessions of many namespaces, listed as one. Source: http W-15, W-75."""

from typing import Any

import pytest

from ledger.application.services import Indexes
from ledger.errors import VersionConflict
from tests.server.conftest import Running, running
from tests.support import asking
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


def listed(running: Running, **query: Any) -> dict[str, Any]:
    answer = asking.get(f"{running.url}/v1/working-memory/", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_who_names_no_namespace_is_shown_all_and_each_is_looked_up_only_when_it_changed(
    server: Server, fresh_database: str
) -> None:
    looked_up: list[str] = []

    def counted(namespace: str) -> Indexes:
        looked_up.append(namespace)
        return indexes(namespace)

    with running(server.target(fresh_database)) as in_flight:
        indexes = in_flight.service.services.indexes
        for number in range(4):
            body = {"namespace": f"n{number % 3}", "messages": [{"role": "user", "content": "hello"}]}
            assert asking.put(f"{in_flight.url}/v1/working-memory/s{number}", json=body).status_code == 200
        in_flight.service.services.indexes = counted  # type: ignore[method-assign]
        assert listed(in_flight) == {"sessions": ["s3", "s2", "s1", "s0"], "total": 4}
        assert sorted(looked_up) == ["n0", "n1", "n2"]
        assert listed(in_flight, limit=2, offset=1) == {"sessions": ["s2", "s1"], "total": 4}
        assert listed(in_flight, namespace="n0") == {"sessions": ["s3", "s0"], "total": 2}
        assert len(looked_up) == 3, "nothing had changed"
        assert (
            asking.put(f"{in_flight.url}/v1/working-memory/s1", json={"namespace": "n1", "context": "c"}).status_code
            == 200
        )
        looked_up.clear()
        assert listed(in_flight)["sessions"] == ["s1", "s3", "s2", "s0"]
        assert looked_up == ["n1"]


def test_a_namespace_without_events_is_no_trouble(server: Server, fresh_database: str) -> None:
    with running(server.target(fresh_database)) as in_flight:
        entry = {"entries": [{"role": "user", "content": "hello"}], "expected_version": 3}
        refused = asking.post(f"{in_flight.url}/v1/sessions/s/entries", params={"namespace": "empty"}, json=entry)
        assert refused.json()["code"] == VersionConflict.code
        assert listed(in_flight) == {"sessions": [], "total": 0}
