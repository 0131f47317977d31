"""Ids of conversations: any text is one; what is no text is refused by its name in the SDK. Source: adapters AD-3."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.adapters.langchain import LedgerChatMessageHistory
from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.adapters.pydantic_ai import LedgerHistory
from ledger.errors import InvalidInput
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

ODD: Final = {
    "a slash": "user/42",
    "NUL": "a\0b",
    "half a character": "\ud800",
    "a long one of both": "\ud800\0" * 100,
    "a long one": "x" * 300,
    "nothing": "",
}
LINE: Final = {"type": "user", "message": {"role": "user", "content": "hello"}}


async def _openai(ledger: MemoryLedger, key: Any) -> list[Any]:
    session = MemoryLedgerSession(key, ledger=ledger)
    await session.add_items([{"role": "user", "content": "hello"}])
    return [item["content"] for item in await session.get_items()]


async def _langchain(ledger: MemoryLedger, key: Any) -> list[Any]:
    history = LedgerChatMessageHistory(key, ledger=ledger)
    await history.aadd_messages([HumanMessage("hello")])
    return [message.text for message in await history.aget_messages()]


async def _pydantic(ledger: MemoryLedger, key: Any) -> list[Any]:
    history = LedgerHistory(ledger=ledger)
    await Agent(TestModel(), capabilities=[history]).run("hello", conversation_id=key)
    return [message.parts[0].content for message in (await history.conversation(key).messages())[:1]]  # type: ignore[union-attr]  # a prompt


async def _langgraph(ledger: MemoryLedger, key: Any) -> list[Any]:
    saver = LedgerSaver(ledger)
    config: Any = {"configurable": {"thread_id": key, "checkpoint_ns": key}}
    stored = await saver.aput(
        config, {**empty_checkpoint(), "channel_values": {"said": "hello"}}, {"step": -1}, {"said": "1"}
    )
    await saver.aput_writes(stored, [("said", "more")], "task")
    (found,) = [found async for found in LedgerSaver(ledger).alist(None)]
    assert found.config == stored
    return [found.checkpoint["channel_values"]["said"]]


async def _claude_agent(ledger: MemoryLedger, key: Any) -> list[Any]:
    store = LedgerSessionStore(ledger=ledger)
    of = {"project_key": key, "session_id": key}
    agent = {**of, "subpath": key or "agent"}
    await store.append(of, [LINE])
    await store.append(agent, [LINE])
    assert [each["session_id"] for each in await store.list_sessions(key)] == [key]
    assert await store.list_subkeys(of) == [agent["subpath"]]
    assert await store.load(agent) == [LINE]
    await store.fork(of, key + "2")
    return [line["message"]["content"] for line in await store.load({**of, "session_id": key + "2"}) or ()]


USES: Final = (_openai, _langchain, _pydantic, _langgraph, _claude_agent)


@pytest.mark.parametrize("key", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
async def test_any_text_is_the_id_of_a_conversation__AD_3(
    use: Callable[[MemoryLedger, Any], Awaitable[list[Any]]], key: str
) -> None:
    assert await use(ledger_over(InMemoryStore()), key) == ["hello"]


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda ledger: MemoryLedgerSession(None, ledger=ledger), "session_id"),  # type: ignore[arg-type]  # on purpose
        (lambda ledger: MemoryLedgerSession(b"s", ledger=ledger), "session_id"),  # type: ignore[arg-type]  # on purpose
        (lambda ledger: MemoryLedgerSession("s", user_id=5, ledger=ledger), "user_id"),  # type: ignore[arg-type]  # on purpose
        (lambda ledger: LedgerChatMessageHistory(5, ledger=ledger), "session_id"),  # type: ignore[arg-type]  # on purpose
        (lambda ledger: LedgerHistory(ledger=ledger).conversation(5), "conversation_id"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_what_is_no_text_is_refused_by_its_name_in_the_sdk(make: Callable[[MemoryLedger], Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: must be text$"):
        make(ledger_over(InMemoryStore()))


async def test_a_run_and_a_fork_refuse_an_id_that_is_no_text() -> None:
    ledger = ledger_over(InMemoryStore())
    with pytest.raises(InvalidInput, match=r"^conversation_id: must be text$"):
        await _pydantic(ledger, 5)
    session = MemoryLedgerSession("s", ledger=ledger)
    with pytest.raises(InvalidInput, match=r"^new_id: must be text$"):
        await session.fork(5)  # type: ignore[arg-type]  # on purpose
    assert await ledger.list_sessions() == []


async def test_a_number_is_an_id_where_the_own_store_of_the_sdk_takes_one() -> None:
    ledger = ledger_over(InMemoryStore())
    assert await _openai(ledger, 5) == ["hello"]
    assert await _langgraph(ledger, "6") == ["hello"]
    assert {row.session_id for row in await ledger.list_sessions()} == {"5", "6"}
