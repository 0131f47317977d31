"""Each adapter as the common tests use it: texts are written to one conversation, and read back."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from agents.memory import Session
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models.test import TestModel

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.adapters.langchain import LedgerChatMessageHistory
from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.adapters.pydantic_ai import LedgerHistory

CLAUDE = {"project_key": "p", "session_id": "s"}
THREAD: Any = {"configurable": {"thread_id": "s"}}


class Kind(NamedTuple):
    """An adapter: *open* takes what opens a ledger, and a write is one write of the SDK."""

    name: str
    open: Callable[..., Any]
    write: Callable[[Any, list[str]], Awaitable[Any]]
    read: Callable[[Any], Awaitable[list[str]]]
    #: Takes everything away; None where the SDK has nothing for it.
    clear: Callable[[Any], Awaitable[Any]] | None
    user_id: str = ""
    #: Whether the SDK can delete a conversation, which the adapter may be told to refuse.
    refuses: bool = False


async def _claude_write(store: LedgerSessionStore, texts: list[str]) -> None:
    await store.append(CLAUDE, [{"type": "user", "message": {"role": "user", "content": text}} for text in texts])


async def _claude_read(store: LedgerSessionStore) -> list[str]:
    return [line["message"]["content"] for line in await store.load(CLAUDE) or ()]


def _saver(*given: Any, ledger: Any = None, **named: Any) -> LedgerSaver:
    return LedgerSaver.open(*given, **named) if ledger is None else LedgerSaver(ledger, **named)


def graph_of(saver: LedgerSaver) -> Any:
    """Return a graph with nothing to do, whose state is a list of messages."""
    graph = StateGraph(MessagesState)
    graph.add_node("node", lambda state: {})
    graph.add_edge(START, "node")
    return graph.compile(checkpointer=saver)


async def _langgraph_write(saver: LedgerSaver, texts: list[str]) -> None:
    messages = [HumanMessage(text) for text in texts]
    await graph_of(saver).aupdate_state(THREAD, {"messages": messages}, as_node="node")


async def _langgraph_read(saver: LedgerSaver) -> list[str]:
    state = await graph_of(saver).aget_state(THREAD)
    return [message.text for message in state.values.get("messages", ())]


async def _openai_write(session: Session, texts: list[str]) -> None:
    await session.add_items([{"role": "user", "content": text} for text in texts])


async def _openai_read(session: Session) -> list[str]:
    return [item["content"] for item in await session.get_items()]


async def _pydantic_write(history: LedgerHistory, texts: list[str]) -> None:
    agent = Agent(TestModel(custom_output_text="answer"), capabilities=[history])
    await agent.run(texts, conversation_id="s")


async def _pydantic_read(history: LedgerHistory) -> list[str]:
    messages = await history.conversation("s").messages()
    prompts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    return [str(text) for part in prompts if isinstance(part, UserPromptPart) for text in part.content]


KINDS = (
    Kind(
        "claude_agent",
        LedgerSessionStore,
        _claude_write,
        _claude_read,
        lambda store: store.delete(CLAUDE),
        user_id="p",
        refuses=True,
    ),
    Kind(
        "langchain",
        lambda *given, **named: LedgerChatMessageHistory("s", *given, **named),
        lambda history, texts: history.aadd_messages([HumanMessage(text) for text in texts]),
        lambda history: _texts(history.aget_messages()),
        lambda history: history.aclear(),
    ),
    Kind(
        "langgraph",
        _saver,
        _langgraph_write,
        _langgraph_read,
        lambda saver: saver.adelete_thread("s"),
        refuses=True,
    ),
    Kind(
        "openai_agents",
        lambda *given, **named: MemoryLedgerSession("s", *given, **named),
        _openai_write,
        _openai_read,
        lambda session: session.clear_session(),
    ),
    Kind("pydantic_ai", LedgerHistory, _pydantic_write, _pydantic_read, None),
)

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
each_that_clears = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.clear], ids=lambda kind: kind.name)


async def _texts(messages: Awaitable[Any]) -> list[str]:
    return [message.text for message in await messages]
