"""A page that fails is folded in shorter ones, and an event that cannot be folded is reported (style §4)."""

import logging

import pytest

from ledger.errors import DatabaseUnavailable
from ledger.indexes.search import index_builds
from ledger.indexes.stored_projections import log_pages
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

POISON = 30
EVENTS = 41  # a session is opened by an event of its own


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let a page of the search index fail if it is longer than the first number, or has the position of another."""
    limits = [10_000]
    advance = index_builds.SearchIndex.advance

    async def limited(self: index_builds.SearchIndex, build: int, *, after: int, limit: int) -> int | None:
        if limit > limits[0] or any(after < position <= after + limit for position in limits[1:]):
            raise DatabaseUnavailable("the database does not answer (57014); try again")
        return await advance(self, build, after=after, limit=limit)

    monkeypatch.setattr(index_builds.SearchIndex, "advance", limited)
    return limits


async def written(store: Store, namespace: str) -> MemoryLedger:
    ledger = ledger_over(store, namespace=namespace)
    for number in range(EVENTS - 1):
        await ledger.add_user_message("s", f"apple {number}")
    return ledger


async def test_a_page_that_takes_too_long_is_folded_in_shorter_ones(
    store: Store, namespace: str, failing: list[int]
) -> None:
    ledger = await written(store, namespace)
    failing[0] = 3
    assert len(await ledger.search("apple", top_k=100)) == EVENTS - 1


async def test_an_event_that_cannot_be_folded_is_named_until_it_can(
    store: Store, namespace: str, failing: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    ledger = await written(store, namespace)
    failing.append(POISON)
    with caplog.at_level(logging.ERROR, "ledger"), pytest.raises(DatabaseUnavailable):
        await ledger.search("apple")
    assert f"search is stuck behind position {POISON - 1}" in caplog.text
    (status,) = await ledger.projection_builds()
    assert (status.position, status.last_error) == (
        POISON - 1,
        "database_unavailable: the database does not answer (57014); try again",
    )
    failing.pop()
    assert len(await ledger.search("apple", top_k=100)) == EVENTS - 1
    (status,) = await ledger.projection_builds()
    assert status.last_error is None


@pytest.mark.parametrize("reader", ["search", "list_sessions"])
async def test_a_page_is_bounded_by_the_size_of_its_texts(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    ledger = await written(store, namespace)
    monkeypatch.setattr(index_builds, "PAGE_BYTES", 1_000)
    monkeypatch.setattr(log_pages, "PAGE_BYTES", 1_000)
    counting = CountingStore(store)
    anew = ledger_over(counting, namespace=namespace)
    await (anew.search("apple") if reader == "search" else anew.list_sessions())
    assert counting.calls.count("read_namespace") > 3
    assert await ledger.search("apple", top_k=100, catch_up=False) or reader != "search"
