"""What a read asks of the store: the state once, and nothing that another answer tells. Source: design §6."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

COLD = ["load_with_events"]
WARM = ["read_stream"]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[CountingStore, httpx.Client]]:
    """A store, and the client of a service over it."""
    store = CountingStore(InMemoryStore())
    with (
        running(store, worker=False) as service,  # type: ignore[arg-type]  # it has all of a store's methods
        httpx.Client(base_url=service.url, params={"namespace": "n"}) as api,
    ):
        yield store, api


def calls_of_get(served: tuple[CountingStore, httpx.Client], path: str, **params: Any) -> list[str]:
    store, api = served
    store.reset()
    api.get(path, params=params).raise_for_status()
    return list(store.calls)


def test_a_read_over_http_reads_the_state_once(served: tuple[CountingStore, httpx.Client], session: str) -> None:
    path = f"/v1/sessions/{session}"
    entries = [{"role": "user", "content": text, "entry_id": text} for text in ("a", "b")]
    served[1].post(f"{path}/entries", json={"entries": entries}).raise_for_status()
    assert calls_of_get(served, f"{path}/state") == WARM
    assert calls_of_get(served, f"{path}/state", version=3) == []
    assert calls_of_get(served, f"{path}/state", version=2) == COLD
    assert calls_of_get(served, f"{path}/context") == WARM
    assert calls_of_get(served, f"{path}/context", version=2) == COLD
    assert calls_of_get(served, f"{path}/entries/a") == [*WARM, "find_items", "read_versions", "find_types"]
    assert calls_of_get(served, f"{path}/events") == ["head", "read_stream"], "the page does not tell the version"


async def test_a_read_of_the_library_reads_the_state_once() -> None:
    store = CountingStore(InMemoryStore())
    await ledger_over(store).add_user_message("s", "hello")
    ledger = ledger_over(store)
    for read, calls in (
        (ledger.get_state, COLD),
        (ledger.get_state, WARM),
        (ledger.get_context, WARM),
        (ledger.get_context_for_llm, WARM),
        (ledger.get_active_entries, WARM),
        (ledger.get_stats, WARM),
    ):
        store.reset()
        await read("s")
        assert store.calls == calls
    store.reset()
    await ledger.get_history("s")
    await ledger.get_state("s", at=ledger._handle.services.clock.now())
    assert store.calls == ["read_stream", "version_at"], "the control: all that is asked is listed"
