"""What a PUT asks of the store: the session's state is read once, and never again after the append."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.faults.intercepted_store import InterceptedStore
from tests.server.conftest import running
from tests.support.working_memory import a_message

ONE_READ = ["read_stream"]


class Counting(InterceptedStore):
    """A store that notes its calls."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.calls: list[str] = []

    async def intercept(self, name: str, method: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        self.calls.append(name)
        return await method(*args, **options)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Counting, httpx.Client]]:
    store = Counting(InMemoryStore())
    with (
        running(store, worker=False) as service,  # type: ignore[arg-type]  # it has all of a store's methods
        httpx.Client(base_url=service.url, params={"namespace": "n"}) as api,
    ):
        yield store, api


def calls_of_put(
    served: tuple[Counting, httpx.Client], session: str, *, user: str | None = None, headers: Any = None, **body: Any
) -> list[str]:
    store, api = served
    store.calls.clear()
    params = {} if user is None else {"user_id": user}
    api.put(f"/v1/working-memory/{session}", json=body, params=params, headers=headers).raise_for_status()
    return list(store.calls)


A, B, C = (a_message(name, id=name) for name in "abc")


def test_a_first_put_reads_once_and_looks_for_namesakes(served: tuple[Counting, httpx.Client], session: str) -> None:
    read = ["load_with_events"]
    assert calls_of_put(served, session, messages=[A]) == [*read, "find_sessions", "append"]
    assert calls_of_put(served, session, user="bob", messages=[A]) == [*read, "append"]


def test_a_put_of_a_known_session_reads_its_state_once(served: tuple[Counting, httpx.Client], session: str) -> None:
    calls_of_put(served, session, messages=[A, B])
    assert calls_of_put(served, session, messages=[A, B]) == ONE_READ
    assert calls_of_put(served, session, messages=[A, B], data={"k": 1}) == [*ONE_READ, "append"]
    assert calls_of_put(served, session, messages=[A, B, C]) == [*ONE_READ, "find_items", "append"]
    assert calls_of_put(served, session, user="", messages=[A, B, C, a_message("d")]) == [*ONE_READ, "append"]


def test_an_omission_asks_for_the_views_unless_the_body_replaces_everything(
    served: tuple[Counting, httpx.Client], session: str
) -> None:
    calls_of_put(served, session, messages=[A, B])
    assert calls_of_put(served, session, messages=[A]) == [*ONE_READ, "load", "append"]
    assert calls_of_put(served, session, headers={"If-Match": "*"}, messages=[]) == [*ONE_READ, "append"]


def test_a_session_found_by_its_stamp_is_read_once(served: tuple[Counting, httpx.Client], session: str) -> None:
    calls_of_put(served, session, user="bob", messages=[A])
    shown = served[1].get(f"/v1/working-memory/{session}", params={"user_id": "bob"}).json()
    sent = {**shown, "user_id": None, "messages": [*shown["messages"], a_message("new")]}
    exact = ["load_with_events"]  # the triple without a user, which is not there
    assert calls_of_put(served, session, **sent) == [*exact, "find_sessions", *ONE_READ, "append"]
