"""Items of LangGraph's store as records, on PostgreSQL. Source: adapters LG-15."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, GetOp, PutOp
from langgraph.store.memory import InMemoryStore as StoreOfLangGraph

from ledger.adapters.langgraph import LedgerStore
from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore

USER = ("users", "ann")


@pytest.fixture
def store(own_ledger: MemoryLedger) -> LedgerStore:
    return LedgerStore(own_ledger)


async def test_items_are_put_changed_deleted_and_put_again(store: LedgerStore) -> None:
    await store.aput(USER, "food", {"likes": "plums"})
    await store.aput(USER, "food", {"likes": "pears"})
    found = await store.aget(USER, "food")
    assert found is not None
    assert (found.namespace, found.key, found.value) == (USER, "food", {"likes": "pears"})
    await store.adelete(USER, "food")
    assert await store.aget(USER, "food") is None
    await store.aput(USER, "food", {"likes": "figs"})
    again = await store.aget(USER, "food")
    assert again is not None
    assert again.value == {"likes": "figs"}


async def test_searches_by_prefix_filter_and_words(store: LedgerStore) -> None:
    for at in range(5):
        await store.aput(USER, str(at), {"at": at, "text": f"likes {'plums' if at == 3 else 'tea'}"})
    await store.aput(("users", "anna"), "0", {"at": 9, "text": "likes plums"})
    assert [item.key for item in await store.asearch(USER, limit=2, offset=1)] == ["1", "2"]
    assert [item.key for item in await store.asearch(USER, filter={"at": {"$gte": 3}})] == ["3", "4"]
    assert [item.key for item in await store.asearch(USER, query="plums")] == ["3"]
    assert len(await store.asearch(("users",))) == 6
    assert await store.alist_namespaces(prefix=("users",)) == [USER, ("users", "anna")]
    assert await store.alist_namespaces(max_depth=1) == [("users",)]


@pytest.mark.parametrize(
    "wanted",
    [
        {"of": {"age": 3}},
        {"of": {"age": {"$gt": 2}, "name": "Anna"}},
        {"of": {"age": {"$gt": 3}}},
        {"of": {}},
        {"tags": ("a", "b")},
        {"tags": ["a"]},
        {"by": [{"id": 1}]},
        {"tags": {"a": 1}},
        {"missing": {}},
    ],
)
async def test_a_filter_looks_into_objects_and_lists_as_the_store_of_langgraph_does(
    store: LedgerStore, wanted: dict[str, Any]
) -> None:
    value = {"of": {"age": 3, "name": "Anna"}, "tags": ["a", "b"], "by": [{"id": 1, "name": "Ben"}]}
    for each in (own := StoreOfLangGraph(), store):
        await each.aput(USER, "a", value)
    assert len(await store.asearch(USER, filter=wanted)) == len(await own.asearch(USER, filter=wanted))


async def test_equal_values_stay_separate_items_of_ten_writers(store: LedgerStore, own_ledger: MemoryLedger) -> None:
    await asyncio.gather(*(store.aput(USER, str(at), {"same": True}) for at in range(10)))
    assert len(await store.asearch(USER, limit=20)) == 10
    await own_ledger.long_term.compact()
    assert len(await store.asearch(USER, limit=20)) == 10
    drafts = [{"id": f"own{at}", "text": "same", "user_id": "control"} for at in range(2)]
    await own_ledger.long_term.create(drafts, deduplicate=False)
    await own_ledger.long_term.compact()
    control = await own_ledger.long_term.search({"user_id": {"eq": "control"}})
    assert control.total == 1, "records without a session of their own are merged"


async def test_a_batch_with_a_bad_value_writes_nothing(store: LedgerStore) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        await store.abatch([PutOp(USER, "a", {"x": 1}), PutOp(USER, "b", {"x": object()})])
    with pytest.raises(InvalidInput, match="index"):
        await store.abatch([PutOp(USER, "a", {"x": 1}), PutOp(USER, "b", {"x": 1}, index="x")])  # type: ignore[arg-type]
    assert await store.abatch([GetOp(USER, "a"), GetOp(USER, "b")]) == [None, None]


def test_a_store_that_was_opened_works_without_an_event_loop() -> None:
    with LedgerStore.open(store=InMemoryStore()) as store:
        store.put(USER, "food", {"likes": "plums"})
        found = store.get(USER, "food")
        assert found is not None
        assert found.value == {"likes": "plums"}


async def test_a_graph_reads_and_writes_the_store(store: LedgerStore) -> None:
    async def remember(state: MessagesState, *, store: BaseStore) -> dict[str, list[AIMessage]]:
        before = await store.aget(USER, "last")
        await store.aput(USER, "last", {"said": str(state["messages"][-1].content)})
        return {"messages": [AIMessage(content=before.value["said"] if before else "nothing")]}

    graph = StateGraph(MessagesState)
    graph.add_node("remember", remember)
    graph.add_edge(START, "remember")
    agent = graph.compile(store=store)
    answers = [await agent.ainvoke({"messages": [HumanMessage(content=text)]}) for text in ("one", "two")]
    assert [answer["messages"][-1].content for answer in answers] == ["nothing", "one"]
