"""A store of LangGraph as it was at a version or a time, on PostgreSQL. Source: adapters LG-15, AD-13."""

import asyncio
from datetime import UTC, datetime

import pytest

from ledger.adapters.langgraph import LedgerStore
from ledger.errors import InvalidInput, VersionNotFound
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore

USER = ("users", "ann")


@pytest.fixture
def store(own_ledger: MemoryLedger) -> LedgerStore:
    return LedgerStore(own_ledger)


async def test_an_earlier_version_and_time_read_as_the_store_was(store: LedgerStore) -> None:
    assert await store.at(version=0).asearch(()) == []
    await store.aput(USER, "food", {"likes": "plums"})
    await store.aput(("users", "bob"), "food", {"likes": "figs"}, index=["likes"])
    version = await store.aversion()
    await asyncio.sleep(0.01)
    moment = SystemClock().now()
    await store.aput(USER, "food", {"likes": "pears"})
    await store.aput(USER, "drink", {"likes": "tea"})
    await store.adelete(("users", "bob"), "food")
    for past in (store.at(version=version), store.at(at=moment), store.at(at=moment.isoformat())):
        found = await past.aget(USER, "food")
        assert found is not None
        assert found.value == {"likes": "plums"}
        assert await past.aget(USER, "drink") is None
        assert [item.value["likes"] for item in await past.asearch(("users",))] == ["plums", "figs"]
        assert [item.namespace for item in await past.asearch((), query="figs")] == [("users", "bob")]
        assert await past.asearch((), query="pears") == []
        assert await past.asearch((), filter={"likes": {"$ne": "plums"}}, query="plums") == []
        assert await past.alist_namespaces() == [USER, ("users", "bob")]
    assert [item.value["likes"] for item in await store.asearch(("users",))] == ["pears", "tea"], "the control: now"


async def test_a_past_store_is_read_only_and_has_only_versions_that_were(store: LedgerStore) -> None:
    await store.aput(USER, "food", {"likes": "plums"})
    with pytest.raises(InvalidInput, match="past"):
        await store.at(version=1).aput(USER, "food", {"likes": "figs"})
    with pytest.raises(InvalidInput, match="past"):
        await store.at(version=1).adelete(USER, "food")
    with pytest.raises(VersionNotFound):
        await store.at(version=2).aget(USER, "food")
    with pytest.raises(InvalidInput, match="version"):
        store.at()
    with pytest.raises(InvalidInput, match="time with an offset"):
        await store.at(at="yesterday").aget(USER, "food")
    assert await store.at(at=datetime(2020, 1, 1, tzinfo=UTC)).aget(USER, "food") is None
    assert await store.aversion() == 1


def test_a_past_store_works_without_an_event_loop() -> None:
    with LedgerStore.open(store=InMemoryStore()) as store:
        store.put(USER, "food", {"likes": "plums"})
        version = store.version()
        store.put(USER, "food", {"likes": "figs"})
        with store.at(version=version) as past:
            found = past.get(USER, "food")
            assert found is not None
            assert found.value == {"likes": "plums"}
        assert store.get(USER, "food") is not None
