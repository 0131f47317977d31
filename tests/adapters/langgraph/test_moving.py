"""The function of the page that moves the threads of another saver copies all of them. Source: adapters AD-17."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ledger.adapters.langgraph import LedgerSaver
from ledger.memory import MemoryLedger
from tests.support.pages import ROOT, blocks

PAGE = ROOT / "docs" / "adapters" / "langgraph.md"
THREADS: list[Any] = [{"configurable": {"thread_id": thread_id}} for thread_id in ("one", "two")]


def _answer(state: MessagesState) -> MessagesState:
    return {"messages": [AIMessage(f"That was message {len(state['messages'])}.")]}


def _ask(state: MessagesState) -> MessagesState:
    return {"messages": [AIMessage(f"You said {interrupt('Really?')}.")]}


def _graph() -> StateGraph[Any]:
    inner = StateGraph(MessagesState)
    inner.add_node("ask", _ask)
    inner.add_edge(START, "ask")
    graph = StateGraph(MessagesState)
    graph.add_node("answer", _answer)
    graph.add_node("inner", inner.compile())
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "inner")
    return graph


async def _all_of(saver: InMemorySaver | LedgerSaver) -> list[CheckpointTuple]:
    found = [each for thread in THREADS async for each in saver.alist(thread)]
    ordered = [each._replace(pending_writes=sorted(each.pending_writes or [], key=repr)) for each in found]
    return sorted(ordered, key=lambda each: repr(each.config))


async def test_moved_threads_have_every_checkpoint_and_go_on(own_ledger: MemoryLedger) -> None:
    own: dict[str, Any] = {}
    (text,) = [block.text for block in blocks(PAGE) if "async def move(" in block.text]
    exec(text.partition("async def main")[0], own)
    old, new = InMemorySaver(), LedgerSaver(own_ledger)
    graph = _graph().compile(checkpointer=old)
    for thread in THREADS:
        for number in range(3):
            await graph.ainvoke({"messages": [("user", f"Hello {number}")]}, thread)
            if number < 2:
                await graph.ainvoke(Command(resume="yes"), thread)
    for _ in range(2):  # a second time changes nothing
        await own["move"](old, new)
        assert await _all_of(new) == await _all_of(old)
    for thread in THREADS:
        moved = await _graph().compile(checkpointer=new).ainvoke(Command(resume="no"), thread)
        expected = await graph.ainvoke(Command(resume="no"), thread)
        assert [each.text for each in moved["messages"]] == [each.text for each in expected["messages"]]
        name = thread["configurable"]["thread_id"]
        shown = [entry.content for entry in await own_ledger.get_active_entries(name)]
        assert shown == [each.text for each in moved["messages"]]
        assert (await own_ledger.verify(name)).ok
