"""The session of the OpenAI Agents SDK: items added, read and popped, in a session of 1,000. Source: adapters OA-9."""

from collections.abc import Callable
from typing import Any, Final

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy.ext.asyncio import create_async_engine

from bench.measure import Work, latencies, ratio
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.memory import MemoryLedger

_LENGTH: Final = 1_000
_GOALS: Final = {"add one": 1.0, "newest 20": 1.0, "all": 1.3, "pop": 1.5}


async def measure(urls: Any, quick: bool) -> dict[str, tuple[float, float | None]]:
    """Return the ratio of each method, warm, and of the first read of a session that no process has in memory."""
    length, rounds, each = (50, 1, 3) if quick else (_LENGTH, 5, 20)
    engine = create_async_engine(urls.other.replace("postgresql://", "postgresql+psycopg://", 1))
    found: dict[str, tuple[float, float | None]] = {}
    async with MemoryLedger.open(urls.ours) as ledger:
        contenders: dict[str, Any] = {
            "ours": MemoryLedgerSession("s", ledger=ledger),
            "other": SQLAlchemySession("s", engine=engine, create_tables=True),
        }
        for session in contenders.values():
            for first in range(0, length, 50):
                await session.add_items([_item(number) for number in range(first, first + 50)])
        for name, work in _works().items():
            taken = await latencies({who: work(one) for who, one in contenders.items()}, rounds=rounds, each=each)
            found[f"{name}, {length:,} items"] = (ratio(taken, "ours", "other"), _GOALS[name])
    found[f"newest 20 of {length:,} items, cold"] = (await _cold(urls, engine, min(rounds, 3), min(each, 5)), None)
    await engine.dispose()
    return found


async def _cold(urls: Any, engine: Any, rounds: int, each: int) -> float:
    """Return the ratio for a session that a running process has not read before: ours by a new ledger each time."""
    calls = [await MemoryLedger.connect(urls.ours) for _ in range(rounds * each + 1)]
    for ledger in calls:  # connected, as the other is
        await MemoryLedgerSession("another", ledger=ledger).get_items(20)
    ledgers = iter(calls)

    async def ours(ledger: MemoryLedger) -> None:
        await MemoryLedgerSession("s", ledger=ledger).get_items(20)

    async def other() -> None:
        await SQLAlchemySession("s", engine=engine).get_items(20)

    works: dict[str, Work] = {"ours": lambda: ours(next(ledgers)), "other": other}
    taken = await latencies(works, rounds=rounds, each=each)
    for ledger in calls:
        await ledger.close()
    return ratio(taken, "ours", "other")


def _works() -> dict[str, Callable[[Any], Work]]:
    return {
        "add one": lambda session: lambda: session.add_items([_item(0)]),
        "newest 20": lambda session: lambda: session.get_items(20),
        "all": lambda session: session.get_items,
        "pop": lambda session: session.pop_item,
    }


def _item(number: int) -> dict[str, Any]:
    return {"role": ("user", "assistant")[number % 2], "content": f"{number} " + "A sentence of an agent. " * 17}
