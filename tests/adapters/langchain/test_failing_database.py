"""A write whose answer is lost is done once. Source: adapters AD-10, LC-2, LG-15."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.store.base import PutOp

from ledger.adapters import opened_ledger
from ledger.adapters.langchain import LedgerMiddleware, middleware
from ledger.adapters.langgraph import LedgerStore, ledger_store
from ledger.errors import DatabaseUnavailable
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.contract.test_failing import FailingAppends, stored
from tests.adapters.langchain.watched import THREAD, looking_agent
from tests.support.ledgers import ledger_over


async def asked(ledger: MemoryLedger) -> None:
    agent = looking_agent(LedgerMiddleware(ledger=ledger), None, asks=False)
    await agent.ainvoke({"messages": [HumanMessage("question", id="1")]}, THREAD)


async def put(ledger: MemoryLedger) -> None:
    await LedgerStore(ledger).abatch([PutOp(("a",), "k", {"text": "plums"}), PutOp(("a",), "l", {"text": "figs"})])


async def outcomes(use: Callable[[MemoryLedger], Awaitable[None]], *, after: bool) -> list[Any]:
    """Return what is stored with no append failing, then with each in turn."""
    found = []
    for n in range(10):
        memory = InMemoryStore()
        failing: Any = FailingAppends(memory, n, after=after)
        await use(ledger_over(failing))
        records = await ledger_over(memory).long_term.version("langgraph.store")
        found.append((sorted(await stored(memory)), records))
        if n and not failing.failed:
            break
    return found


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("use", [asked, put])
async def test_a_write_is_done_once_however_the_database_fails__AD_10(use: Any, after: bool) -> None:
    undisturbed, *others = await outcomes(use, after=after)
    assert len(others) > 1
    assert [found for found in others if found != undisturbed] == []


@pytest.mark.parametrize("use", [asked, put])
async def test_a_write_that_is_not_repeated_fails(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""
    for module in (opened_ledger, middleware, ledger_store):
        monkeypatch.setattr(module, "repeated", lambda work: work)
    with pytest.raises(DatabaseUnavailable, match="is refused"):
        await outcomes(use, after=False)
