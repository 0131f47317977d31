"""What a run of an agent asks of the store. Source: adapters PY-2."""

from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from ledger.adapters.pydantic_ai import LedgerHistory
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over


async def test_a_model_call_costs_the_same_after_a_long_conversation__PY_2() -> None:
    """What is read and written beside the history itself, which a run needs once."""
    counting: Any = CountingStore(InMemoryStore())
    agent = Agent(TestModel(), capabilities=[LedgerHistory(ledger=ledger_over(counting))])
    calls = []
    for _ in range(60):
        counting.reset()
        await agent.run("Again", conversation_id="t")
        calls.append((counting.calls, counting.events_read))
    assert calls[5] == calls[-1]
    assert len(calls[-1][0]) <= 4
