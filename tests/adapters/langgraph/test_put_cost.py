"""What a step of a graph asks the store, and who else may write between. Source: adapters LG-5, LG-13."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, MessagesState, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.known_threads import KnownThreads
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def graph_with(saver: LedgerSaver) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [AIMessage(f"answer {len(state['messages'])}")]})
    graph.add_edge(START, "chat")
    graph.add_edge("chat", END)
    return graph.compile(checkpointer=saver)


async def ask(saver: LedgerSaver, *questions: str) -> None:
    for question in questions:
        await graph_with(saver).ainvoke({"messages": [HumanMessage(question)]}, CONFIG)


async def window(ledger: MemoryLedger) -> list[str]:
    return [entry.content for entry in (await ledger.get_context("t")).entries]


async def test_a_step_that_follows_this_process_own_is_one_append__LG_13() -> None:
    store: Any = CountingStore(InMemoryStore())
    saver = LedgerSaver(ledger_over(store))
    await ask(saver, "one", "two")
    store.reset()
    await ask(saver, "three")
    assert store.calls.count("append") == 5  # three checkpoints, and what two tasks wrote
    assert len(store.calls) - 5 == 1  # of `aget_tuple`, with which a run begins: whether others wrote
    assert await window(saver._opened._given) == [  # type: ignore[arg-type]
        *["one", "answer 1", "two", "answer 3", "three", "answer 5"]
    ]


async def test_reading_a_checkpoint_asks_as_much_for_a_long_thread__LG_7() -> None:
    calls = []
    for turns in (5, 60):
        store: Any = CountingStore(InMemoryStore())
        ledger = ledger_over(store)
        own, other = LedgerSaver(ledger), LedgerSaver(ledger)
        await ask(own, *map(str, range(turns)))
        await other.aget_tuple(CONFIG)  # has the messages in memory
        await other.aput_writes((await own.aget_tuple(CONFIG)).config, [("note", 1)], "task")  # type: ignore[union-attr]
        store.reset()
        for saver in (own, own, other):
            found = await saver.aget_tuple(CONFIG)
            assert found is not None
            assert len(found.checkpoint["channel_values"]["messages"]) == 2 * turns
        calls.append(store.calls[:])
    assert calls == [["read_stream", "read_kept", "read_kept", "read_stream", "read_stream"]] * 2


async def test_a_new_process_reads_a_checkpoint_without_the_state_of_the_session__LG_7() -> None:
    store: Any = CountingStore(InMemoryStore())
    await ask(LedgerSaver(ledger_over(store)), *map(str, range(100)))
    saver = LedgerSaver(ledger_over(store))
    store.reset()
    for _ in range(2):
        assert (await saver.aget_tuple(CONFIG)) is not None
    looked_up = ["head", "find_types", "read_versions", "read_kept", "read_kept"]
    blobs = ["find_items", "read_versions"]  # of nodes, then of messages
    assert store.calls == [*looked_up, *blobs, *blobs, "head"]


async def test_each_listed_checkpoint_costs_a_look_at_what_its_tasks_wrote__LG_8() -> None:
    store: Any = CountingStore(InMemoryStore())
    await ask(LedgerSaver(ledger_over(store)), *map(str, range(15)))
    saver = LedgerSaver(ledger_over(store))
    store.reset()
    listed = [found async for found in saver.alist(CONFIG)]
    assert len(store.calls) <= len(listed) + 15


async def test_what_others_write_between_is_seen__LG_5() -> None:
    ledger = ledger_over(InMemoryStore())
    savers = [LedgerSaver(ledger) for _ in range(2)]
    for turn in range(6):
        await ask(savers[turn % 2], f"question {turn}")
    said = [text for turn in range(6) for text in (f"question {turn}", f"answer {2 * turn + 1}")]
    assert await window(ledger) == said
    state = await graph_with(savers[0]).aget_state(CONFIG)
    assert [message.content for message in state.values["messages"]] == said


async def test_a_thread_that_another_deleted_begins_anew() -> None:
    ledger = ledger_over(InMemoryStore())
    one, other = LedgerSaver(ledger), LedgerSaver(ledger)
    await ask(one, "first")
    await other.adelete_thread("t")
    await ask(one, "second")
    assert await window(ledger) == ["second", "answer 1"]
    state = await graph_with(other).aget_state(CONFIG)
    assert [message.content for message in state.values["messages"]] == ["second", "answer 1"]


async def branched(ledger: MemoryLedger) -> list[str]:
    """Let one saver go on from its newest checkpoint, after which another one's came, and return the window."""
    one, other = LedgerSaver(ledger), LedgerSaver(ledger)
    await ask(one, "first", "second")
    old = (await one.aget_tuple(CONFIG)).config  # type: ignore[union-attr]
    await ask(other, "third")
    stored: Any = await one.aget_tuple(old)
    checkpoint: Any = {**stored.checkpoint, "id": str(uuid6(clock_seq=-1))}
    version = one.get_next_version(checkpoint["channel_versions"]["messages"], None)
    checkpoint["channel_versions"] = {**checkpoint["channel_versions"], "messages": version}
    checkpoint["channel_values"] = {
        "messages": [*stored.checkpoint["channel_values"]["messages"], HumanMessage("branch")]
    }
    await one.aput(old, checkpoint, {"source": "fork", "step": 9}, {"messages": version})
    return await window(ledger)


BRANCH = ["first", "answer 1", "second", "answer 3", "branch"]


async def test_a_head_is_not_taken_from_memory_if_another_wrote__LG_5() -> None:
    assert await branched(ledger_over(InMemoryStore())) == BRANCH


async def test_a_saver_that_trusts_its_memory_mixes_two_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    head = KnownThreads.head
    monkeypatch.setattr(KnownThreads, "head", lambda *asked: (head(*asked)[0], None))
    assert await branched(ledger_over(InMemoryStore())) != BRANCH
