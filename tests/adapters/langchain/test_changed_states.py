"""States that changed otherwise than at their end are shown in their order. Source: adapters LC-2."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from ledger.adapters.langgraph import LedgerSaver
from ledger.memory import MemoryLedger
from tests.adapters.langchain.watched import THREAD, Appending, Watched, looking_agent

Change: TypeAlias = Callable[[Any, Any], Awaitable[Any]]


async def ask(agent: Any, question: str, config: Any = THREAD) -> list[Any]:
    result = await agent.ainvoke({"messages": [HumanMessage(question)]}, config)
    return list(result["messages"])


async def replaced_in_place(agent: Any, messages: list[Any]) -> Any:
    return await agent.aupdate_state(THREAD, {"messages": [HumanMessage("one, corrected", id=messages[0].id)]})


async def trimmed(agent: Any, messages: list[Any]) -> Any:
    summary = HumanMessage("summary of before", id="summary")
    update = {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *messages[2:]]}
    return await agent.aupdate_state(THREAD, update)


async def shortened(agent: Any, messages: list[Any]) -> Any:
    return await agent.aupdate_state(THREAD, {"messages": [RemoveMessage(id=each.id) for each in messages[1:3]]})


async def branched(agent: Any, messages: list[Any]) -> Any:
    earlier = [state async for state in agent.aget_state_history(THREAD) if not state.next]
    old = next(state for state in earlier if len(state.values["messages"]) == 2)
    await ask(agent, "other branch", old.config)
    return next(state.config for state in earlier if len(state.values["messages"]) == 4)


async def unchanged(agent: Any, messages: list[Any]) -> Any:
    """The serializer has changed a message that has a lone surrogate."""


CHANGES: list[Change] = [replaced_in_place, trimmed, shortened, branched, unchanged]


async def shown_after(change: Change, middleware: Watched, ledger: MemoryLedger) -> list[Any]:
    agent = looking_agent(middleware, LedgerSaver(ledger), asks=False)
    await ask(agent, "one \ud800" if change is unchanged else "one")
    messages = await ask(agent, "two")
    config = await change(agent, messages)
    await ask(agent, "three", {**THREAD, **(config or {})})
    await ask(agent, "four")
    return middleware.wrong


@pytest.mark.parametrize("change", CHANGES)
async def test_the_order_shown_is_that_of_the_state__LC_2(ledger: MemoryLedger, change: Change) -> None:
    assert await shown_after(change, Watched(ledger=ledger), ledger) == []


@pytest.mark.parametrize("change", [replaced_in_place, trimmed, unchanged])
async def test_a_middleware_that_adds_at_the_end_shows_another_order(ledger: MemoryLedger, change: Change) -> None:
    """The control of the test above."""
    assert await shown_after(change, Appending(ledger=ledger), ledger)


async def test_what_was_edited_and_what_others_added_stays_in_its_place__LC_2(ledger: MemoryLedger) -> None:
    middleware = Watched(ledger=ledger)
    agent = looking_agent(middleware, LedgerSaver(ledger), asks=False)
    messages = await ask(agent, "one")
    await ledger.add_user_message("t#context", "from elsewhere")
    await ask(agent, "two")
    edited = (await ledger.get_transcript("t#context"))[-1]
    await ledger.edit_entry("t#context", edited.entry_id, "edited")
    await replaced_in_place(agent, messages)
    await ask(agent, "three")
    expected = ["one, corrected", "answer to one", "from elsewhere", "two", "edited", "three"]
    assert middleware.calls[-1][1] == expected
