"""An ETag names a version of one history: of events that are not in the log, it matches nothing (trust K-2)."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.server.conftest import Running

pytestmark = pytest.mark.postgres

STATE = "/v1/sessions/s/state"
WORKING_MEMORY = "/v1/working-memory/s"
WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/sessions/s/entries", {"entries": [{"role": "user", "content": "more"}]}),
    ("PATCH", "/v1/sessions/s/data", {"a": 1}),
    ("POST", "/v1/sessions/s/fork", {"session_id": "other"}),
    ("PUT", WORKING_MEMORY, {"messages": []}),
    ("DELETE", WORKING_MEMORY, None),
]


@contextmanager
def history(service: Running) -> Iterator[httpx.Client]:
    """Yield a client of a namespace with a session of two versions."""
    namespace = f"history-{secrets.token_hex(4)}"
    entries = [{"role": "user", "content": "hello", "entry_id": "m-1"}]
    with httpx.Client(base_url=service.url, params={"namespace": namespace}) as api:
        assert api.post("/v1/sessions/s/entries", json={"entries": entries}).json()["version"] == 2
        yield api


@pytest.mark.parametrize("path", [STATE, WORKING_MEMORY])
def test_an_answer_of_another_history_is_not_the_one_that_the_reader_has(service: Running, path: str) -> None:
    with history(service) as lost, history(service) as found:
        etag = lost.get(path).headers["etag"]
        assert lost.get(path, headers={"If-None-Match": etag}).status_code == 304
        assert found.get(path, headers={"If-None-Match": etag}).status_code == 200
        assert found.get(path).headers["etag"] != etag


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_a_write_for_another_history_is_refused(service: Running, method: str, path: str, body: Any) -> None:
    with history(service) as lost, history(service) as found:
        etag = lost.get(STATE).headers["etag"]
        before = found.get(STATE).json()["version"]
        refused = found.request(method, path, json=body, headers={"If-Match": etag})
        assert refused.status_code == 412, refused.text
        assert found.get(STATE).json()["version"] == before
        done = lost.request(method, path, json=body, headers={"If-Match": etag})
        assert done.status_code in {200, 201}, done.text


def test_a_version_alone_is_no_etag(service: Running) -> None:
    with history(service) as api:
        body = {"entries": [{"role": "user", "content": "more"}]}
        assert api.post("/v1/sessions/s/entries", json=body, headers={"If-Match": '"2"'}).status_code == 412
        assert api.get(STATE, headers={"If-None-Match": '"2"'}).status_code == 200


def test_past_versions_have_their_own(service: Running) -> None:
    with history(service) as api:
        first = api.get(STATE, params={"version": 1}).headers["etag"]
        assert first != api.get(STATE).headers["etag"]
        api.post("/v1/sessions/s/entries", json={"entries": [{"role": "user", "content": "more"}]})
        assert api.get(STATE, params={"version": 1}).headers["etag"] == first
