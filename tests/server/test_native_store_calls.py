"""What a read asks of the store: the state once, and nothing that another answer tells. Source: style §4."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running
from tests.support.counting_store import CountingStore
from tests.support.http_client import JSON
from tests.support.ledgers import ledger_over

LENGTHS = 200, 1_200
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
    assert calls_of_get(served, f"{path}/state", version=2) == [*COLD, "read_versions"], "the hash, for the ETag"
    assert calls_of_get(served, f"{path}/context") == WARM
    assert calls_of_get(served, f"{path}/context", version=2) == [*COLD, "read_versions"]
    assert calls_of_get(served, f"{path}/entries/a") == [
        *WARM,
        "find_items",
        "read_versions",
        "first_events",
        "find_types",
    ]
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


ROLLING = {"window": {"type": "rolling", "size": 21}, "compactions": [], "tokenizer": "approximate"}

#: What answers with a part of a session, or with none of it.
PARTS: dict[str, Callable[[httpx.Client, str], httpx.Response]] = {
    "context": lambda api, s: api.get(f"/v1/sessions/{s}/context"),
    "past context": lambda api, s: api.get(f"/v1/sessions/{s}/context", params={"version": 150}),
    "stats": lambda api, s: api.get(f"/v1/sessions/{s}/stats"),
    "config": lambda api, s: api.get(f"/v1/sessions/{s}/config"),
    "entry": lambda api, s: api.get(f"/v1/sessions/{s}/entries/e-7"),
    "log": lambda api, s: api.get(f"/v1/sessions/{s}/events", params={"limit": 5}),
    "edit": lambda api, s: api.patch(f"/v1/sessions/{s}/entries/{late(s)}", json={"content": "other"}),
    "removal": lambda api, s: api.delete(f"/v1/sessions/{s}/entries/{late(s)}"),
    "conditional addition": lambda api, s: api.post(
        f"/v1/sessions/{s}/entries", json={"entries": [{"role": "user", "content": "x"}]}, headers={"If-Match": "*"}
    ),
    "new config": lambda api, s: api.put(f"/v1/sessions/{s}/config", json={"config": ROLLING}),
    "data": lambda api, s: api.patch(f"/v1/sessions/{s}/data", json={"a": 1}, headers=PATCH),
    "fork": lambda api, s: api.post(f"/v1/sessions/{s}/fork", json={"session_id": f"{s}-fork"}),
    "clearing": lambda api, s: api.post(f"/v1/sessions/{s}/clear", headers=JSON),
    "newest messages": lambda api, s: api.get(f"/v1/working-memory/{s}", params={"recent_messages_limit": 5}),
    "messages that fit": lambda api, s: api.get(f"/v1/working-memory/{s}", params={"context_window_max": 100}),
    "prompt": lambda api, s: api.post(
        "/v1/memory/prompt",
        json={"query": "q", "session": {"session_id": s, "namespace": "n", "context_window_max": 100}},
    ),
    "end": lambda api, s: api.delete(f"/v1/working-memory/{s}"),
}
PATCH = {"content-type": "application/merge-patch+json"}


def late(session: str) -> str:
    """Return an entry near the end of *session*."""
    return f"e-{int(session.rsplit(maxsplit=1)[-1]) - 10}"


#: Negative control: what answers with all of it.
WHOLES: dict[str, Callable[[httpx.Client, str], httpx.Response]] = {
    "state": lambda api, s: api.get(f"/v1/sessions/{s}/state"),
    "messages": lambda api, s: api.get(f"/v1/working-memory/{s}"),
}


def test_an_answer_costs_no_more_than_it_returns() -> None:
    """Each is the first that a new process gives of a session."""
    store, reads = InMemoryStore(), {**PARTS, **WHOLES}

    async def fill() -> None:
        writer = ledger_over(store, config=ROLLING, namespace="n")
        for number, session in enumerate(f"{name} {length}" for name in reads for length in LENGTHS):
            entries = [
                {"role": ("user", "assistant")[at % 2], "content": f"entry {at}", "entry_id": f"e-{at}"}
                for at in range(LENGTHS[number % 2])
            ]
            for first in range(0, len(entries), 200):
                await writer.add_entries(session, entries[first : first + 200])
                await writer._handle.services.commands.settle()

    asyncio.run(fill())
    counting = CountingStore(store)
    found: dict[str, list[int]] = {name: [] for name in reads}
    with (
        running(counting, worker=False) as service,  # type: ignore[arg-type]  # it has all of a store's methods
        httpx.Client(base_url=service.url, params={"namespace": "n"}) as api,
    ):
        for name, read in reads.items():
            for length in LENGTHS:
                counting.reset()
                answer = read(api, f"{name} {length}")
                assert answer.is_success, (name, answer.text)
                found[name].append(counting.events_read)
    few, many = LENGTHS
    assert {name: costs for name, costs in found.items() if costs[1] > costs[0] and costs[1] > 200} == {
        name: found[name] for name in WHOLES
    }
    assert all(found[name][0] >= few and found[name][1] >= many for name in WHOLES)
