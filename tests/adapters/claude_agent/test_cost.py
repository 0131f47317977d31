"""What the lines of a turn ask of the store. Source: adapters CL-9."""

from typing import Any
from uuid import UUID

import pytest

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.stores.in_memory import InMemoryStore
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

KEY: Any = {"project_key": "garden", "session_id": "s"}
TURN = 50


def lines(first: int) -> list[dict[str, Any]]:
    return [
        {"type": "user", "uuid": str(UUID(int=at)), "message": {"role": "user", "content": f"line {at}"}}
        for at in range(first, first + TURN)
    ]


@pytest.mark.usefixtures("sdk")
async def test_the_lines_of_a_turn_are_one_append_however_long_the_session_is__CL_9() -> None:
    counting: Any = CountingStore(InMemoryStore())
    sessions = LedgerSessionStore(ledger=ledger_over(counting))
    calls = []
    for turn in range(40):
        counting.reset()
        await sessions.append(KEY, lines(turn * TURN))
        calls.append((counting.calls[:], counting.events_read))
    assert calls[-1] == (["append"], 0)
    assert calls[5] == calls[-1]
    assert len(await sessions.load(KEY) or []) == 40 * TURN
