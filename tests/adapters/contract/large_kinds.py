"""Each adapter as the tests of large items use it: texts and images are written to one conversation, and read back.

An image is a data URL; whatever else is a text.
"""

from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models.test import TestModel

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.adapters.langchain import LedgerChatMessageHistory
from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.adapters.pydantic_ai import LedgerHistory
from tests.adapters.contract.kinds import CLAUDE, KINDS, THREAD, Kind, graph_of

PNG = "data:image/png;base64,"


class LargeKind(NamedTuple):
    """An adapter that writes *items* in one write, reads them, reads them at a version, and reads those of a fork."""

    kind: Kind
    write: Callable[[Any, list[str]], Awaitable[Any]]
    read: Callable[[Any], Awaitable[list[str]]]
    read_at: Callable[[Any, int], Awaitable[list[str]]]
    read_fork: Callable[[Any], Awaitable[list[str]]]


def _claude_line(item: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": item.removeprefix(PNG)}
    content: Any = [{"type": "image", "source": source}] if item.startswith(PNG) else item
    return {"type": "user", "message": {"role": "user", "content": content}}


async def _claude_read(store: LedgerSessionStore, key: Any = CLAUDE) -> list[str]:
    contents = [line["message"]["content"] for line in await store.load(key) or ()]
    return [each if isinstance(each, str) else PNG + each[0]["source"]["data"] for each in contents]


async def _claude_fork(store: LedgerSessionStore) -> list[str]:
    return await _claude_read(store, await store.fork(CLAUDE, "f"))


def _human(item: str) -> HumanMessage:
    return HumanMessage([{"type": "image_url", "image_url": {"url": item}}] if item.startswith(PNG) else item)


def _of_humans(messages: list[BaseMessage]) -> list[str]:
    contents: list[Any] = [message.content for message in messages]
    return [each if isinstance(each, str) else each[0]["image_url"]["url"] for each in contents]


async def _langchain_read(history: LedgerChatMessageHistory) -> list[str]:
    return _of_humans(await history.aget_messages())


async def _langchain_fork(history: LedgerChatMessageHistory) -> list[str]:
    return await _langchain_read(await history.fork("f"))


async def _langgraph_write(saver: LedgerSaver, items: list[str]) -> None:
    await graph_of(saver).aupdate_state(THREAD, {"messages": [*map(_human, items)]}, as_node="node")


async def _langgraph_read(saver: LedgerSaver, config: Any = THREAD) -> list[str]:
    return _of_humans((await graph_of(saver).aget_state(config)).values.get("messages", []))


async def _langgraph_read_at(saver: LedgerSaver, version: int) -> list[str]:
    return await _langgraph_read(saver, await saver.aconfig_at("s", version=version))


async def _langgraph_fork(saver: LedgerSaver) -> list[str]:
    await saver.acopy_thread("s", "f")
    return await _langgraph_read(saver, {"configurable": {"thread_id": "f"}})


def _openai_item(item: str) -> dict[str, Any]:
    content = [{"type": "input_image", "image_url": item}] if item.startswith(PNG) else item
    return {"role": "user", "content": content}


async def _openai_read(session: MemoryLedgerSession) -> list[str]:
    contents = [item["content"] for item in await session.get_items()]
    return [each if isinstance(each, str) else each[0]["image_url"] for each in contents]


async def _openai_fork(session: MemoryLedgerSession) -> list[str]:
    return await _openai_read(await session.fork("f"))


async def _pydantic_write(history: LedgerHistory, items: list[str]) -> None:
    prompt = [
        BinaryContent(b64decode(item.removeprefix(PNG)), media_type="image/png") if item.startswith(PNG) else item
        for item in items
    ]
    await Agent(TestModel(custom_output_text="answer"), capabilities=[history]).run(prompt, conversation_id="s")


def _of_prompts(messages: list[ModelMessage]) -> list[str]:
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    contents = [each for part in parts if isinstance(part, UserPromptPart) for each in part.content]
    return [PNG + b64encode(each.data).decode() if isinstance(each, BinaryContent) else str(each) for each in contents]


async def _pydantic_read(history: LedgerHistory) -> list[str]:
    return _of_prompts(await history.conversation("s").messages())


async def _pydantic_read_at(history: LedgerHistory, version: int) -> list[str]:
    return _of_prompts(await history.conversation("s").at(version=version).messages())


async def _pydantic_fork(history: LedgerHistory) -> list[str]:
    return _of_prompts(await (await history.conversation("s").fork("f")).messages())


_OF = {kind.name: kind for kind in KINDS}

LARGE_KINDS = (
    LargeKind(
        _OF["claude_agent"],
        lambda store, items: store.append(CLAUDE, [*map(_claude_line, items)]),
        _claude_read,
        lambda store, version: _claude_read(store.at(version=version)),
        _claude_fork,
    ),
    LargeKind(
        _OF["langchain"],
        lambda history, items: history.aadd_messages([*map(_human, items)]),
        _langchain_read,
        lambda history, version: _langchain_read(history.at(version=version)),
        _langchain_fork,
    ),
    LargeKind(_OF["langgraph"], _langgraph_write, _langgraph_read, _langgraph_read_at, _langgraph_fork),
    LargeKind(
        _OF["openai_agents"],
        lambda session, items: session.add_items([*map(_openai_item, items)]),
        _openai_read,
        lambda session, version: _openai_read(session.at(version=version)),
        _openai_fork,
    ),
    LargeKind(_OF["pydantic_ai"], _pydantic_write, _pydantic_read, _pydantic_read_at, _pydantic_fork),
)

each_large_kind = pytest.mark.parametrize("large", LARGE_KINDS, ids=lambda large: large.kind.name)
