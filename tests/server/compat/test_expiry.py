"""Expiry and reconstruction as replay, on a clock that can be moved: http C15, C19, B6."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import httpx
import pytest

from ledger.events.clock import SystemClock
from tests.server.conftest import Running, running
from tests.support.databases import Server
from tests.support.http_client import shown_version
from tests.support.working_memory import a_message, put, texts


class MovedClock(SystemClock):
    """The system's clock, moved ahead."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def forgetful(server: Server, shared_database: str, clock: MovedClock) -> Iterator[Running]:
    """A service whose expired sessions are gone."""
    with running(server.target(shared_database), clock=clock, worker=False) as in_flight:
        yield in_flight


@pytest.fixture
def remembering(server: Server, shared_database: str, clock: MovedClock) -> Iterator[Running]:
    """A service whose expired sessions come back."""
    settings = {"index_all_messages_in_long_term_memory": True, "worker": False}
    with running(server.target(shared_database), clock=clock, **settings) as in_flight:
        yield in_flight


def client(service: Running, namespace: str) -> httpx.Client:
    return httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30)


def test_expiry_follows_from_the_clock__C15(
    forgetful: Running, clock: MovedClock, namespace: str, session: str
) -> None:
    """http W-20: reads and other sessions renew nothing, a PUT does, also one that changes nothing."""
    path = f"/v1/working-memory/{session}"
    with client(forgetful, namespace) as api:
        body = {"messages": [a_message("a", id="a")], "ttl_seconds": 100}
        put(api, session, **body)
        clock.ahead = timedelta(seconds=60)
        assert texts(api.get(path)) == ["a"]
        assert session in api.get("/v1/working-memory/").json()["sessions"]
        clock.ahead = timedelta(seconds=101)
        answer = api.get(path)
        assert (answer.status_code, answer.json()) == (404, {"detail": f"Session {session} not found"})
        assert session not in api.get("/v1/working-memory/").json()["sessions"]
        assert api.delete(path).status_code == 200
        assert texts(put(api, session, messages=[a_message("b", id="b")])) == ["b"], "another life"
        assert api.get(path).json()["ttl_seconds"] is None


def test_a_config_brings_no_expired_session_back__W_60(
    forgetful: Running, remembering: Running, clock: MovedClock, namespace: str, session: str
) -> None:
    """A new life begins, as by an entry, or the old one is resumed by an event that says so."""
    for service, name, event, shown in (
        (forgetful, session, "session.opened", []),
        (remembering, f"{session}-b", "session.restored", ["a"]),
    ):
        clock.ahead = timedelta()
        with client(service, namespace) as api:
            version = shown_version(put(api, name, messages=[a_message("a", id="a")], ttl_seconds=100))
            clock.ahead = timedelta(seconds=101)
            answer = api.put(f"/v1/sessions/{name}/config", json={"config": {"profile": "rolling"}})
            assert answer.status_code == 200, answer.text
            log = api.get(f"/v1/sessions/{name}/events", params={"after_version": version}).json()["events"]
            assert log[0]["type"] == event
            assert [each["content"] for each in api.get(f"/v1/sessions/{name}/state").json()["entries"]] == shown


def test_a_put_without_changes_renews_the_lifetime__C15(forgetful: Running, namespace: str, session: str) -> None:
    """http W-20: by one event."""
    with client(forgetful, namespace) as api:
        body = {"messages": [a_message("a", id="a")], "ttl_seconds": 100}
        first, second = put(api, session, **body), put(api, session, **body)
        versions = [shown_version(answer) for answer in (first, second)]
        assert versions[1] == versions[0] + 1


def test_an_expired_session_is_restored_exactly__C19_B6(
    remembering: Running, clock: MovedClock, namespace: str, session: str
) -> None:
    """http W-22: order, equal messages, roles, summary, data, memories, strategy; and nothing is written by reading."""
    path = f"/v1/working-memory/{session}"
    with client(remembering, namespace) as api:
        put(
            api,
            session,
            messages=[
                a_message("same"),
                a_message("same"),
                a_message("other", role="tool"),
                a_message("same", role="assistant"),
            ],
            memories=[{"id": "f1", "text": "likes tea", "topics": ["tea"]}],
            data={"k": {"deep": [1, 2]}},
            context="what came before",
            ttl_seconds=100,
            long_term_memory_strategy={"strategy": "preferences"},
        )
        before = api.get(path)
        clock.ahead = timedelta(days=30)
        after = api.get(path)
        assert (after.status_code, after.headers["x-memory-reconstructed"]) == (200, "true")
        assert after.json() == before.json()
        assert after.headers["etag"] == before.headers["etag"]
        prompt = api.post("/v1/memory/prompt", json={"query": "and?", "session": {"session_id": session}}).json()
        roles = [each["role"] for each in prompt["messages"]]
        assert roles == ["system", "user", "user", "assistant", "assistant", "user"]
        resumed = put(api, session, **{**after.json(), "messages": [*after.json()["messages"], a_message("new")]})
        assert texts(resumed) == [*texts(before), "new"]
        clock.ahead = timedelta()  # what was written now, by the clock of the database, lives now
        assert "x-memory-reconstructed" not in api.get(path).headers


def test_live_sessions_win_and_deleted_ones_stay_deleted__C19(
    remembering: Running, clock: MovedClock, namespace: str, session: str
) -> None:
    """http W-21, W-22."""
    path = f"/v1/working-memory/{session}"
    with client(remembering, namespace) as api:
        put(api, session, messages=[a_message("expired")], ttl_seconds=100, user_id="ada")
        clock.ahead = timedelta(days=1)
        assert texts(api.get(path)) == ["expired"]
        put(api, session, messages=[a_message("live")], user_id="bob")
        assert texts(api.get(path)) == ["live"]
        assert texts(api.get(path, params={"user_id": "ada"})) == ["expired"]
        assert api.delete(path, params={"user_id": "ada"}).status_code == 200
        assert api.get(path, params={"user_id": "ada"}).status_code == 404
