"""Sessions of many namespaces, listed as one. Source: http W-15, W-75."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx
import pytest
from agent_memory_client import MemoryAPIClient

from ledger.errors import VersionConflict
from ledger.events.ids import namespace_id
from ledger.indexes.stored_projections.session_indexes import SessionIndexes
from ledger.ports.projection_store import Place
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.working_memory import a_message, put, texts

pytestmark = pytest.mark.postgres


def listed(running: Running, **query: Any) -> dict[str, Any]:
    answer = http_client.get(f"{running.url}/v1/working-memory/", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_without_a_namespace_all_are_listed_and_each_is_read_only_after_a_change(
    server: Server, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_up: list[list[UUID]] = []
    advance_all = SessionIndexes.advance_all

    async def counted(self: SessionIndexes, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        caught_up.append(sorted(places))
        return await advance_all(self, places)

    with running(server.target(fresh_database)) as in_flight:
        for number in range(4):
            body = {"namespace": f"n{number % 3}", "messages": [{"role": "user", "content": "hello"}]}
            assert http_client.put(f"{in_flight.url}/v1/working-memory/s{number}", json=body).status_code == 200
        monkeypatch.setattr(SessionIndexes, "advance_all", counted)
        assert listed(in_flight) == {"sessions": ["s3", "s2", "s1", "s0"], "total": 4}
        assert caught_up == [sorted(namespace_id(name) for name in ("n0", "n1", "n2"))], "together"
        assert listed(in_flight, limit=2, offset=1) == {"sessions": ["s2", "s1"], "total": 4}
        assert listed(in_flight, namespace="n0") == {"sessions": ["s3", "s0"], "total": 2}
        assert len(caught_up) == 1, "nothing had changed"
        assert (
            http_client.put(
                f"{in_flight.url}/v1/working-memory/s1", json={"namespace": "n1", "context": "c"}
            ).status_code
            == 200
        )
        assert listed(in_flight)["sessions"] == ["s1", "s3", "s2", "s0"]
        assert caught_up[1:] == [[namespace_id("n1")]]


def test_a_namespace_without_events_is_listed_as_empty(server: Server, fresh_database: str) -> None:
    with running(server.target(fresh_database)) as in_flight:
        entry = {"entries": [{"role": "user", "content": "hello"}], "expected_version": 3}
        refused = http_client.post(f"{in_flight.url}/v1/sessions/s/entries", params={"namespace": "empty"}, json=entry)
        assert refused.json()["code"] == VersionConflict.code
        assert listed(in_flight) == {"sessions": [], "total": 0}


async def test_lists_have_pages_filters_a_total_and_an_order__C16(
    client: MemoryAPIClient, api: httpx.Client, namespace: str
) -> None:
    """http W-15."""
    for number in range(5):
        put(api, f"s{number}", user_id="ada" if number % 2 else None, messages=[a_message("a")])
    put(api, "s0", messages=[a_message("b")])
    assert (await client.list_sessions(limit=10)).sessions == ["s0", "s4", "s3", "s2", "s1"]
    page = await client.list_sessions(limit=2, offset=1)
    assert (page.sessions, page.total) == (["s4", "s3"], 5)
    named = api.get("/v1/working-memory/", params={"user_id": "ada"}).json()
    assert named == {"sessions": ["s3", "s1"], "total": 2}
    everywhere = httpx.get(f"{api.base_url}/v1/working-memory/", params={"limit": 100}, timeout=30).json()
    assert everywhere["total"] >= 5
    await client.delete_working_memory("s4")
    assert "s4" not in (await client.list_sessions()).sessions


async def test_a_session_is_found_by_its_id_if_only_one_matches__C17(service, namespace: str, session: str) -> None:
    """http W-14."""
    with httpx.Client(base_url=service.url, timeout=30) as api:
        path = f"/v1/working-memory/{session}"
        api.put(path, json={"user_id": "ada", "namespace": namespace, "messages": [a_message("hers")]})
        assert texts(api.get(path)) == ["hers"]
        assert texts(api.get(path, params={"user_id": "ada"})) == ["hers"]
        assert api.get(path, params={"user_id": "bob"}).status_code == 404
        assert api.get(path, params={"namespace": f"{namespace}-other"}).status_code == 404
        api.put(path, json={"user_id": "bob", "namespace": namespace, "messages": [a_message("his")]})
        assert api.get(path).status_code == 404, "two could be meant"
        assert api.delete(path).status_code == 409
        assert texts(api.get(path, params={"user_id": "bob"})) == ["his"]
        assert api.delete(path, params={"user_id": "bob"}).status_code == 200
        assert texts(api.get(path)) == ["hers"]


@pytest.mark.parametrize(("limit", "shown"), [(2, ["b", "c"]), (0, ["c", "a", "b"]), (-1, ["c", "a", "b"])])
def test_the_most_recent_messages_by_their_own_time__C18(
    api: httpx.Client, session: str, limit: int, shown: list[str]
) -> None:
    """http W-17: three times that are not sorted."""
    stamps = {"c": "2026-01-03T00:00:00Z", "a": "2026-01-01T00:00:00Z", "b": "2026-01-02T00:00:00Z"}
    put(api, session, messages=[a_message(text, created_at=at) for text, at in stamps.items()])
    answer = api.get(f"/v1/working-memory/{session}", params={"recent_messages_limit": limit})
    assert texts(answer) == shown if limit > 0 else sorted(texts(answer)) == ["a", "b", "c"]
