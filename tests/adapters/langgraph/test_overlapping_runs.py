"""Two runs of one thread at the same time: the state is of the run that wrote last, and the log has both."""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

THREAD: Any = {"configurable": {"thread_id": "t1"}}


async def test_the_run_that_wrote_last_has_the_state_and_the_messages_of_both_stay__LG_10() -> None:
    both_began = asyncio.Barrier(2)
    quick_ended = asyncio.Event()

    async def answer(state: MessagesState) -> dict[str, Any]:
        await both_began.wait()
        asked = state["messages"][-1].text
        if asked == "slow":
            await quick_ended.wait()
        return {"messages": [AIMessage(f"{asked} answer")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    ledger = ledger_over(InMemoryStore())
    graph: Any = builder.compile(checkpointer=LedgerSaver(ledger))

    async def run(asked: str) -> None:
        await graph.ainvoke({"messages": [("user", asked)]}, THREAD, durability="sync")
        quick_ended.set()

    await asyncio.gather(run("slow"), run("quick"))

    def texts(state: Any) -> list[str]:
        return [message.text for message in state.values.get("messages", ())]

    assert texts(await graph.aget_state(THREAD)) == ["slow", "slow answer"]
    history = [snapshot async for snapshot in graph.aget_state_history(THREAD)]
    quick = next(snapshot for snapshot in history if texts(snapshot)[-1:] == ["quick answer"])
    assert texts(await graph.aget_state(quick.config)) == ["quick", "quick answer"]
    assert len([found async for found in graph.checkpointer.alist(THREAD)]) == len(history) == 6
    entries = (await ledger.get_history("t1")).entries
    assert {entry.content: entry.status for entry in entries} == {
        "slow": "active",
        "slow answer": "active",
        "quick": "removed",
        "quick answer": "removed",
    }
