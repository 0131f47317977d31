"""Whoever follows a log with a hole stops there, by whatever way it follows. Source: trust K-5."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from ledger.errors import LogCorrupted
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.in_memory.event_store import InMemoryEventStore
from tests.server.conftest import running
from tests.support.ledgers import ledger_over


async def holed(namespace: str, *, lost: int | None) -> tuple[InMemoryStore, MemoryLedger]:
    """Return a log of two sessions that has *lost* a position, and a ledger that has read none of it."""
    store = InMemoryStore()
    writer = ledger_over(store, namespace=namespace)
    for session in ("s", "t", "s", "t"):
        await writer.add_user_message(session, "hello")
    assert isinstance(store.events, InMemoryEventStore)
    stored = store.events._namespaces[namespace_id(namespace)]
    if lost is not None:
        gone = stored.log.pop(lost - 1)
        stored.streams[gone.stream_id].remove(gone)
    return store, ledger_over(store, namespace=namespace)


FOLLOWERS: dict[str, Callable[[MemoryLedger], Awaitable[Any]]] = {
    "the feed": lambda ledger: ledger.get_feed(),
    "the feed, after what it has": lambda ledger: ledger.get_feed(after=1),
    "the list of sessions": lambda ledger: ledger.list_sessions(),
    "the search": lambda ledger: ledger.search("hello"),
    "the log of a session": lambda ledger: ledger.get_log("s"),
    "the state of a session": lambda ledger: ledger.get_state("s"),
}


@pytest.mark.parametrize("name", FOLLOWERS)
async def test_a_follower_stops_at_a_hole(namespace: str, name: str) -> None:
    _, whole = await holed(namespace, lost=None)
    await FOLLOWERS[name](whole)  # control: it is the hole that stops it
    _, ledger = await holed(namespace, lost=2)
    with pytest.raises(LogCorrupted, match=r"(position|version) 2 is missing; run `memory-ledger verify`"):
        await FOLLOWERS[name](ledger)


def test_a_follower_over_http_stops_at_a_hole() -> None:
    store, _ = asyncio.run(holed("default", lost=2))
    with running(store) as service, httpx.Client(base_url=service.url) as client:
        for path in ("/v1/sessions/s/events", "/v1/events/stream", "/v1/sessions/s/events/stream", "/v1/sessions"):
            answer = client.get(path, timeout=10)
            assert answer.json()["code"] == "log_corrupted", path
