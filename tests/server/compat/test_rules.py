"""Rules of the HTTP contract that are about no single route: stamps, proof, losing the store."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from agent_memory_client import MemoryAPIClient, MemoryClientConfig
from agent_memory_client.exceptions import MemoryServerError

from ledger.errors import DatabaseUnavailable
from ledger.stores.in_memory import InMemoryStore
from projections.model_windows import NAMED
from tests.faults.intercepted_store import InterceptedStore
from tests.server.conftest import Running, running
from tests.support.http_client import shown_version
from tests.support.wire import connected, head
from tests.support.working_memory import a_message, put, texts

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.filterwarnings("ignore:get_working_memory is deprecated:DeprecationWarning"),
]


def test_the_stamp_is_the_second_of_the_last_write_and_the_version__W_7(api: httpx.Client, session: str) -> None:
    """Neither reads nor what a body says of it move it."""
    first = put(api, session, messages=[a_message("a")]).json()
    claimed = {"created_at": "2001-01-01T00:00:00Z", "updated_at": "2001-01-01T00:00:00Z"}
    second = put(api, session, **{**first, **claimed, "messages": [*first["messages"], a_message("b")]}).json()
    version = api.get(f"/v1/sessions/{session}/stats").json()["version"]
    assert second["last_accessed"] == f"{second['updated_at'][:19]}.{version:06}Z"
    assert second["created_at"] == first["created_at"]
    for _ in range(2):
        assert api.get(f"/v1/working-memory/{session}").json()["last_accessed"] == second["last_accessed"]


def test_a_connection_proves_nothing_and_there_are_no_cookies__W_10(api: httpx.Client, session: str) -> None:
    """The same client reads everything, and then writes without saying so: what it omits stays."""
    item = put(api, session, messages=[a_message("a", id="a")])
    put(api, session, messages=[a_message("a", id="a"), a_message("b", id="b")])
    read = api.get(f"/v1/working-memory/{session}")
    assert texts(read) == ["a", "b"]
    assert texts(put(api, session, messages=[a_message("a", id="a")])) == ["a", "b"]
    assert not any("set-cookie" in answer.headers for answer in (item, read))
    stamped = {**read.json(), "messages": read.json()["messages"][:1]}
    assert texts(put(api, session, **stamped)) == ["a"], "a stamp does prove it"


def test_only_the_models_that_are_named_pass_and_have_their_windows__W_42(api: httpx.Client, session: str) -> None:
    """http W-42: by the percentage that 1,000 counted tokens or so are of each."""
    answers = put(api, session, messages=[a_message("word " * 700)]).json()["messages"]
    assert len(answers) == 1
    assert len(NAMED) == 35
    sizes = {}
    for model in NAMED:
        shown = api.get(f"/v1/working-memory/{session}", params={"model_name": model}).json()
        sizes[model] = shown["context_percentage_total_used"] * NAMED[model]
    assert max(sizes.values()) == pytest.approx(min(sizes.values()))
    for unknown in ("gpt-99", "GPT-4", "claude-3-opus"):
        assert api.get(f"/v1/working-memory/{session}", params={"model_name": unknown}).status_code == 422


def test_a_put_is_one_write_and_a_repeated_put_writes_nothing__W_51(api: httpx.Client, session: str) -> None:
    body = {"messages": [a_message("a", id="a"), a_message("b", id="b")], "data": {"k": 1}, "context": "before"}
    first = put(api, session, **body)
    events = api.get(f"/v1/sessions/{session}/events").json()
    assert len({event["recorded_at"] for event in events["events"]}) == 1
    assert shown_version(first) == events["version"]
    again = put(api, session, **body)
    assert (again.headers["etag"], again.json()["last_accessed"]) == (
        first.headers["etag"],
        first.json()["last_accessed"],
    )


class Cut(InterceptedStore):
    """A store that can be cut off: then no call is answered."""

    away = False

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """Refuse while the store is away."""
        if self.away:
            raise DatabaseUnavailable("cut off")
        return await method(*args, **options)


@pytest.fixture
def cut() -> Iterator[tuple[Cut, Running]]:
    store = Cut(InMemoryStore())
    with running(store, worker=False) as in_flight:  # type: ignore[arg-type]  # it has all of a store's methods
        yield store, in_flight


async def test_a_store_that_is_cut_off_costs_no_message__B4(cut: tuple[Cut, Running], session: str) -> None:
    """http W-5, W-54: it is 503, never an empty session that a client would write back."""
    store, item = cut
    config = MemoryClientConfig(base_url=item.url, default_namespace="cut")
    async with MemoryAPIClient(config) as client:
        await client.append_messages_to_working_memory(session, [{"role": "user", "content": "keep me"}])
        store.away = True
        shown = await asyncio.to_thread(httpx.get, f"{item.url}/v1/working-memory/{session}?namespace=cut")
        assert (shown.status_code, "retry-after" in shown.headers) == (503, True)
        with pytest.raises(MemoryServerError):
            await client.get_or_create_working_memory(session)
        store.away = False
        await client.set_working_memory_data(session, {"step": 2})
        _, stored = await client.get_or_create_working_memory(session)
    assert ([each.content for each in stored.messages], stored.data) == (["keep me"], {"step": 2})


@pytest.mark.parametrize("part", [0.5, 1.0], ids=["half of it", "all of it"])
def test_a_request_of_a_client_that_disconnects_is_done_completely_or_not_at_all(
    service: Running, namespace: str, session: str, part: float
) -> None:
    """Trust I-50: and the retry is safe."""
    messages = [a_message(f"text {n}", id=f"m{n}") for n in range(200)]
    body = json.dumps({"messages": messages, "namespace": namespace}).encode()
    lines = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    with connected(service) as sock:
        sock.sendall(head("PUT", f"/v1/working-memory/{session}", *lines) + body[: int(len(body) * part)])
        sock.shutdown(socket.SHUT_RDWR)
    with httpx.Client(base_url=service.url, params={"namespace": namespace}) as api:
        seen = api.get(f"/v1/working-memory/{session}")
        assert seen.status_code == 404 or len(texts(seen)) == 200
        assert part == 1 or seen.status_code == 404
        assert len(texts(put(api, session, messages=messages))) == 200
