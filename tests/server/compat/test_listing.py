"""Sessions of many namespaces, listed as one. Source: http W-15, W-75."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from ledger.errors import VersionConflict
from ledger.server.spaces import ServedLedger
from tests.databases import Server
from tests.server import asking
from tests.server.conftest import Running, running

pytestmark = pytest.mark.postgres


def listed(one: Running, **query: Any) -> dict[str, Any]:
    answer = asking.get(f"{one.url}/v1/working-memory/", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_who_names_no_namespace_is_shown_all_and_each_is_looked_up_only_when_it_changed(
    server: Server, fresh_database: str
) -> None:
    lent: list[str] = []

    def counted(namespace: str, actor: str = "") -> AbstractAsyncContextManager[ServedLedger]:
        lent.append(namespace)
        return lend(namespace, actor)

    with running(server.target(fresh_database)) as one:
        lend = one.service.spaces.lend
        for number in range(4):
            body = {"namespace": f"n{number % 3}", "messages": [{"role": "user", "content": "hello"}]}
            assert asking.put(f"{one.url}/v1/working-memory/s{number}", json=body).status_code == 200
        one.service.spaces.lend = counted  # type: ignore[method-assign]
        assert listed(one) == {"sessions": ["s3", "s2", "s1", "s0"], "total": 4}
        assert sorted(lent) == ["n0", "n1", "n2"]
        assert listed(one, limit=2, offset=1) == {"sessions": ["s2", "s1"], "total": 4}
        assert listed(one, namespace="n0") == {"sessions": ["s3", "s0"], "total": 2}
        assert len(lent) == 3, "nothing had changed"
        assert (
            asking.put(f"{one.url}/v1/working-memory/s1", json={"namespace": "n1", "context": "c"}).status_code == 200
        )
        lent.clear()
        assert listed(one)["sessions"] == ["s1", "s3", "s2", "s0"]
        assert lent == ["n1"]


def test_a_namespace_without_events_is_no_trouble(server: Server, fresh_database: str) -> None:
    with running(server.target(fresh_database)) as one:
        entry = {"entries": [{"role": "user", "content": "hello"}], "expected_version": 3}
        refused = asking.post(f"{one.url}/v1/sessions/s/entries", params={"namespace": "empty"}, json=entry)
        assert refused.json()["code"] == VersionConflict.code
        assert listed(one) == {"sessions": [], "total": 0}
