"""A request that would wait long for an index is answered, and the work goes on without it (style §4)."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from uuid import UUID

import httpx
import pytest

from ledger.indexes.stored_projections.session_indexes import SessionIndexes
from ledger.indexes.stored_projections.session_list import SessionIndex
from ledger.ports.projection_store import Place
from ledger.server import service
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import running


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """A client of a service whose requests wait for an index for less than a page takes."""
    monkeypatch.setattr(service, "INDEX_PATIENCE_S", 0.05)
    advance = SessionIndex.advance

    async def slow(self: SessionIndex, build: int, *, after: int, limit: int) -> int | None:
        await asyncio.sleep(0.5)
        return await advance(self, build, after=after, limit=limit)

    advance_all = SessionIndexes.advance_all

    async def slow_for_all(self: SessionIndexes, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        await asyncio.sleep(0.5)
        return await advance_all(self, places)

    monkeypatch.setattr(SessionIndex, "advance", slow)
    monkeypatch.setattr(SessionIndexes, "advance_all", slow_for_all)
    with (
        running(InMemoryStore(), worker=False) as served,
        httpx.Client(base_url=served.url, params={"namespace": "n"}) as api,
    ):
        yield api


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/working-memory/"])
def test_a_listing_answers_in_time_and_says_when_to_try_again(impatient: httpx.Client, path: str) -> None:
    entries = [{"role": "user", "content": "hello"}]
    impatient.post("/v1/sessions/s/entries", json={"entries": entries}).raise_for_status()
    refused = impatient.get(path)
    assert refused.status_code == 503
    assert refused.headers["retry-after"] == "5"
    if path == "/v1/sessions":
        assert refused.json()["code"] == "index_behind"
    deadline = time.monotonic() + 20
    while (answer := impatient.get(path)).status_code == 503:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "s" in answer.text
    assert answer.status_code == 200
