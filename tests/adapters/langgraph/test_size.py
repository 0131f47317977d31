"""What a thread stores: each value once. Source: adapters LG-3, LG-12."""

from collections import Counter
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph import stored_checkpoints as stored
from ledger.adapters.langgraph.entry_messages import message_in, name_in
from ledger.adapters.langgraph.keys import BLOBS
from ledger.adapters.langgraph.known_blobs import KnownBlobs
from ledger.adapters.langgraph.known_threads import KnownThreads
from ledger.adapters.langgraph.memory_cache import MemoryCache
from ledger.adapters.langgraph.stored_checkpoints import Stored
from ledger.events import EntryAdded, KeptSet
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

CONFIG: Any = {"configurable": {"thread_id": "t"}}
TEXT = "x" * 420


async def stored_blobs(ledger: MemoryLedger) -> Counter[str]:
    """Return how often each blob is stored: as a value, or in the data of an entry."""
    found: Counter[str] = Counter()
    for event in await ledger.get_events("t", limit=1_000):
        payload = event.payload
        if isinstance(payload, KeptSet) and payload.space == BLOBS:
            found[payload.key] += 1
        elif isinstance(payload, EntryAdded) and message_in(payload) is not None:
            found[name_in(payload.entry_id) or ""] += 1
    return found


async def run(ledger: MemoryLedger, times: int) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("chat", lambda state: {"messages": [AIMessage(TEXT)]})
    graph.add_edge(START, "chat")
    graph.add_edge("chat", END)
    compiled = graph.compile(checkpointer=LedgerSaver(ledger))
    for _ in range(times):
        await compiled.ainvoke({"messages": [HumanMessage(TEXT)]}, CONFIG)
    return await compiled.aget_state(CONFIG)


async def test_each_value_is_stored_once__LG_3() -> None:
    """Without its id in what the graph is called with, and with it in the list of messages."""
    ledger = ledger_over(InMemoryStore())
    state = await run(ledger, 20)
    assert len(state.values["messages"]) == 40
    stored = await stored_blobs(ledger)
    assert max(stored.values()) == 1
    assert (await ledger.get_state("t")).version / 40 < 3.6


async def test_a_saver_that_forgets_what_it_stored_stores_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setattr(KnownThreads, "beside", lambda self, session, version: set())
    monkeypatch.setattr(KnownThreads, "blobs", lambda self, session: (set(), 0))
    ledger = ledger_over(InMemoryStore())
    await run(ledger, 3)
    stored = await stored_blobs(ledger)
    assert max(stored.values()) > 1


def test_what_was_stored_before_somebody_else_wrote_is_not_relied_on() -> None:
    """Between, the life of the session may have ended."""
    known = KnownThreads(MemoryCache())
    known.add("t", ["a"], 2, 3)
    known.add("t", ["b"], 4, 7)
    assert known.beside("t", 7) == {"a", "b"}
    assert known.beside("t", 1) == known.beside("other", 7) == set()
    known.add("t", ["c"], 9, 9)
    assert known.beside("t", 9) == {"c"}
    assert known.beside("t", 7) == set()


async def test_an_object_with_messages_comes_back_equal__LG_3() -> None:
    ledger = ledger_over(InMemoryStore())
    saver = LedgerSaver(ledger)
    value = {"messages": [HumanMessage(TEXT, id="1")], "more": {"deep": [TEXT]}, "few": 1}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}
    await saver.aput_writes(config, [("input", value)], "task")
    checkpoint: Any = {
        "v": 4,
        "id": "c",
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": {"input": value},
        "channel_versions": {"input": "1"},
        "versions_seen": {},
        "updated_channels": None,
    }
    await saver.aput({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, checkpoint, {}, {"input": "1"})
    found = await LedgerSaver(ledger).aget_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"]["input"] == value
    assert found.pending_writes == [("task", "input", value)]


def nodes_of_one_more(length: int) -> int:
    """Return the bytes of the nodes that a list needs which had so many messages, and got one more."""
    serde = LedgerSaver(ledger_over(InMemoryStore())).serde
    messages = [HumanMessage(TEXT, id=str(at)) for at in range(length + 1)]
    before, after = (Stored(serde, KnownBlobs(MemoryCache()), splits_messages=True) for _ in range(2))
    before.reference(messages[:-1])
    reference = after.reference(messages)
    new = [typed for name, typed in after.blobs.items() if name not in before.blobs and typed[0] == "node"]
    return sum(len(content) for _, content in new) + len(str(reference))


def test_a_list_of_messages_grows_by_few_bytes__LG_4() -> None:
    assert max(nodes_of_one_more(length) for length in (20, 255, 300)) < 3 * 16 * 20 + 3 * 16 * 27


def test_a_list_without_a_tree_grows_by_all_its_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    monkeypatch.setattr(stored, "_BRANCHES", 10_000)
    assert nodes_of_one_more(300) > 300 * 27
