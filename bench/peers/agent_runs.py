"""The history of Pydantic AI, which has no store: beside its messages as JSON in one row, as its users keep them.

The model answers at once, so what is left of a run is the agent's own work and the store's. Source: adapters PY-2.
"""

from typing import Any, Final

from psycopg import AsyncConnection
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.test import TestModel

from bench.measure import Median, Work, latencies, ratio
from ledger.adapters.pydantic_ai import LedgerHistory
from ledger.memory import MemoryLedger

_LENGTH: Final = 200  # messages that the conversation has before
_BOUND_S: Final = 0.01
_TEXT: Final = "A sentence of an agent. " * 17


async def measure(urls: Any, quick: bool) -> dict[str, tuple[float, float | None]]:
    """Return the ratio of a run with one model call, and what the history adds to one, as a part of its bound."""
    length, rounds, each = (6, 1, 3) if quick else (_LENGTH, 5, 10)
    model = TestModel(custom_output_text=_TEXT)
    async with (
        MemoryLedger.open(urls.ours) as ledger,
        await AsyncConnection.connect(urls.other, autocommit=True) as connection,
    ):
        await connection.execute("CREATE TABLE conversation (id text PRIMARY KEY, messages bytea NOT NULL)")
        ours = Agent(model, capabilities=[LedgerHistory(ledger=ledger)])
        plain = Agent(model)

        async def in_ledger() -> None:
            await ours.run(_TEXT, conversation_id="c")

        async def in_row() -> None:
            found = await (await connection.execute("SELECT messages FROM conversation")).fetchone()
            history = ModelMessagesTypeAdapter.validate_json(found[0]) if found else []
            result = await plain.run(_TEXT, message_history=history)
            await connection.execute(
                "INSERT INTO conversation VALUES ('c', %s) ON CONFLICT (id) DO UPDATE SET messages = excluded.messages",
                [result.all_messages_json()],
            )

        async def alone() -> None:
            found = await (await connection.execute("SELECT messages FROM conversation")).fetchone()
            await plain.run(_TEXT, message_history=ModelMessagesTypeAdapter.validate_json(found[0]) if found else [])

        works: dict[str, Work] = {"ours": in_ledger, "row": in_row}
        for _ in range(length // 2):
            for work in works.values():
                await work()
        taken = await latencies({**works, "alone": alone}, rounds=rounds, each=each)
    added = [(ours - alone) / _BOUND_S for ours, alone in zip(taken["ours"], taken["alone"], strict=True)]
    return {
        f"a run after {length} messages": (ratio(taken, "ours", "row"), None),
        "what a model call takes more, of 10 ms": (Median.of(added), 1.0),
    }
