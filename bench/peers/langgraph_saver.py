"""LangGraph: the messages of a thread, stored by the Postgres checkpoint saver."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from psycopg.rows import dict_row

from bench.peers.memories import Page
from bench.peers.ours import connection_pool


class Thread:
    """A graph without a model, whose state is updated by one message at a time."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    async def append(self, session: str, text: str) -> None:
        await self._graph.aupdate_state(_of(session), {"messages": [HumanMessage(text)]}, as_node="chat")

    async def texts(self, session: str) -> list[str]:
        state = await self._graph.aget_state(_of(session))
        return [str(message.content) for message in state.values.get("messages", ())]

    async def feed(self, after: int) -> Page | None:
        return None


@asynccontextmanager
async def opened(url: str, app_url: str) -> AsyncIterator[Thread]:
    """Create the tables and compile the graph."""
    async with connection_pool(url, prepare_threshold=0, row_factory=dict_row) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        graph = StateGraph(MessagesState)
        graph.add_node("chat", lambda state: {})
        graph.add_edge(START, "chat")
        graph.add_edge("chat", END)
        yield Thread(graph.compile(checkpointer=saver))


def _of(session: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": session}}
