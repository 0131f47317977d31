"""Runs of one thread that overlap, in one process and in several. Source: adapters LC-2."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from ledger.errors import LedgerError
from ledger.events import ContextRendered
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.langchain.watched import THREAD, Appending, Watched, looking_agent
from tests.support.ledgers import ledger_over
from tests.support.slow_store import SlowStore


def processes(number: int, store: Store, namespace: str, seed: int) -> list[MemoryLedger]:
    """Return the ledgers of as many processes, each with its own memory of the sessions."""
    slow: Any = SlowStore(store, Random(seed))
    return [ledger_over(slow, namespace=namespace) for _ in range(number)]


async def overlapping(kind: Callable[..., Watched], ledgers: list[MemoryLedger], runs: int) -> list[Any]:
    """Run an agent once, then *runs* times at once; return how each call and run went wrong."""
    saver, middlewares = InMemorySaver(), [kind(ledger=ledger) for ledger in ledgers]
    agents = [looking_agent(middleware, saver) for middleware in middlewares]

    def run(number: int) -> Any:
        return agents[number % len(agents)].ainvoke({"messages": [HumanMessage(f"q{number}")]}, THREAD)

    await run(99)
    results = await asyncio.gather(*map(run, range(runs)), return_exceptions=True)
    wrong: list[Any] = [call for middleware in middlewares for call in middleware.wrong]
    for number, result in enumerate(results):
        if isinstance(result, BaseException):
            assert isinstance(result, LedgerError)
            wrong.append(result)
        elif result["messages"][-1].text != f"answer to q{number}":
            wrong.append(result["messages"][-1].text)
    return wrong


@pytest.mark.parametrize("runs", [2, 3, 10])
async def test_runs_at_once_are_shown_their_own_state__LC_2(store: Store, namespace: str, runs: int, seed: int) -> None:
    (ledger,) = processes(1, store, namespace, seed)
    assert await overlapping(Watched, [ledger], runs) == []
    assert (await ledger.verify("t#context")).ok


async def test_runs_of_several_processes_are_shown_their_own_state__LC_2(
    store: Store, namespace: str, seed: int
) -> None:
    assert await overlapping(Watched, processes(3, store, namespace, seed), 9) == []


@pytest.mark.parametrize("number", [1, 3])
async def test_runs_of_a_middleware_that_shows_the_newest_context_mix(
    store: Store, namespace: str, number: int, seed: int
) -> None:
    """The control of the tests above."""
    assert await overlapping(Appending, processes(number, store, namespace, seed), 9)


async def in_threads(kind: Callable[..., Watched], seed: int) -> list[str]:
    """Run an agent in six threads at once, without an event loop of theirs, and return its answers."""
    slow: Any = SlowStore(InMemoryStore(), Random(seed))
    async with kind(store=slow) as middleware:
        agent = looking_agent(middleware, InMemorySaver(), asks=False)

        def run(number: int) -> str:
            try:
                result = agent.invoke({"messages": [HumanMessage(f"q{number}")]}, THREAD)
            except LedgerError as fault:
                return str(fault)
            return str(result["messages"][-1].text)

        return await asyncio.gather(*(asyncio.to_thread(run, number) for number in range(6)))


async def test_runs_in_threads_are_shown_their_own_state__LC_2(seed: int) -> None:
    assert await in_threads(Watched, seed) == [f"answer to q{number}" for number in range(6)]


async def test_runs_in_threads_of_a_middleware_that_shows_the_newest_context_mix(seed: int) -> None:
    """The control of the test above."""
    assert await in_threads(Appending, seed) != [f"answer to q{number}" for number in range(6)]


async def test_all_that_was_shown_to_runs_at_once_stays_proved__LC_2(store: Store, namespace: str, seed: int) -> None:
    (ledger,) = processes(1, store, namespace, seed)
    middleware = Watched(ledger=ledger)
    agent = looking_agent(middleware, InMemorySaver())
    await asyncio.gather(*(agent.ainvoke({"messages": [HumanMessage(f"q{at}")]}, THREAD) for at in range(5)))
    events = await ledger._handle.events("t#context", None)
    recorded = [event.version for event in events if isinstance(event.payload, ContextRendered)]
    audits = [await ledger.seen("t#context", version=version) for version in recorded]
    assert {audit.verdict for audit in audits} == {"proved"}
    proved = [[line.message["content"] for line in audit.messages] for audit in audits]
    assert sorted(map(len, proved)) == sorted(len(shown) for _, shown in middleware.calls) == [1] * 5 + [3] * 5
    assert sorted(texts[0] for texts in proved) == sorted([f"q{at}" for at in range(5)] * 2)
