"""Compactions of a context, and what a call costs. Source: adapters LC-2."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver

from ledger.events import EntryAdded, SessionCleared
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from projections.memory_config import config as memory_config
from tests.adapters.langchain.watched import THREAD, Appending, Watched, answered, looking_agent
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

SUMMARIZING: Any = {"compactions": [{"type": "token_threshold", "max_entries": 6, "recent_window": 2}]}
ERASING: Any = {"compactions": [{"type": "neuralyzer", "interaction_threshold_qty": 3, "interaction_keep": 1}]}
FILLER = "said at some length and with care " * 5


def compacting(config: Any) -> MemoryLedger:
    return ledger_over(InMemoryStore(), config=memory_config.load(config))


async def turns(middleware: Watched, first: int, last: int, state: list[AnyMessage]) -> list[AnyMessage]:
    """Return *state* after the turns from *first* to *last*, each followed by the compactions that are due."""
    for number in range(first, last + 1):
        question = HumanMessage(f"question{number} {FILLER}", id=f"q{number}")
        answer = AIMessage(f"answer{number} {FILLER}", id=f"a{number}")
        state = await answered(middleware, [*state, question], answer)
        await middleware.ledger.settle()
    return state


async def types(ledger: MemoryLedger, kind: type) -> int:
    """Return how many events of a *kind* the session has."""
    return sum(isinstance(event.payload, kind) for event in await ledger._handle.events("t#context", None))


async def test_what_a_summary_stands_for_is_not_added_again__LC_2() -> None:
    ledger = compacting(SUMMARIZING)
    middleware = Watched(ledger=ledger)
    await turns(middleware, 1, 9, [])
    state, shown = middleware.calls[-1]
    spoken = [text for text in shown if not text.startswith("[Previous conversation summary]")]
    assert 1 < len(spoken) < len(shown) < len(state) - 5
    assert state[-len(spoken) :] == spoken
    assert await types(ledger, EntryAdded) == 17
    assert not await types(ledger, SessionCleared)


async def left(middleware: Watched) -> list[str]:
    """Let the state go back to before what a summary stands for, and return what the model is shown then."""
    state = await turns(middleware, 1, 9, [])
    await turns(middleware, 99, 99, state[:2])
    return middleware.calls[-1][1]


async def test_no_summary_tells_of_what_is_not_in_the_state__LC_2() -> None:
    ledger = compacting(SUMMARIZING)
    middleware = Watched(ledger=ledger)
    shown = await left(middleware)
    assert [text.split()[0] for text in shown] == ["question1", "answer1", "question99"]
    versions = [event.version for event in await ledger._handle.events("t#context", None)]
    assert {(await ledger.seen("t#context", version=version)).verdict for version in versions[-20:]} == {"proved"}


async def test_a_middleware_that_leaves_summaries_tells_of_other_branches() -> None:
    """The control of the test above."""
    assert "[Previous conversation summary]" in str(await left(Appending(ledger=compacting(SUMMARIZING))))


async def test_what_was_erased_is_neither_shown_nor_added_again__LC_2() -> None:
    ledger = compacting(ERASING)
    middleware = Watched(ledger=ledger)
    saver = InMemorySaver()
    agent = looking_agent(middleware, saver, asks=False)
    for number in range(6):
        result = await agent.ainvoke({"messages": [HumanMessage(f"q{number}")]}, THREAD)
    assert [len(shown) for _, shown in middleware.calls] == [1, 3, 5, 3, 5, 3]
    assert all(state[-len(shown) :] == shown for state, shown in middleware.calls)
    await agent.aupdate_state(THREAD, {"messages": [RemoveMessage(id=result["messages"][0].id)]})
    await agent.ainvoke({"messages": [HumanMessage("last")]}, THREAD)
    assert middleware.calls[-1][1][-1] == "last"
    assert await types(ledger, EntryAdded) == 14
    assert len(await ledger.get_transcript("t#context")) == 13


@pytest.mark.parametrize("config", [{}, SUMMARIZING, {"window": {"type": "recall", "max_tokens": 8000}}])
async def test_an_ordinary_turn_asks_the_store_once_for_each_write__LC_2(config: Any) -> None:
    store: Any = CountingStore(InMemoryStore())
    middleware = Watched(ledger=ledger_over(store, config=memory_config.load(config)))
    agent = looking_agent(middleware, InMemorySaver())
    for number in range(3):
        store.reset()
        await agent.ainvoke({"messages": [HumanMessage(f"q{number}")]}, THREAD)
    # two calls of the model and the end of the run; without a read beside each change of the window
    assert (store.calls.count("read_stream"), store.calls.count("append")) == (3, 5)


async def test_a_middleware_that_reads_before_and_after_each_write_asks_more() -> None:
    """The control of the test above."""
    store: Any = CountingStore(InMemoryStore())
    agent = looking_agent(Appending(ledger=ledger_over(store)), InMemorySaver())
    await agent.ainvoke({"messages": [HumanMessage("one")]}, THREAD)
    assert store.calls.count("read_stream") > 3
