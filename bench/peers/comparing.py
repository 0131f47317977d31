"""Run all stores in turns, and describe each in a line."""

import asyncio
import statistics
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec

from bench.measure import Work, latencies
from bench.peers.counting import Counted, total, written_at_once
from bench.peers.memories import WRITERS, Memory

PLAIN: Final = "plain psycopg"
_MOST_S: Final = 120.0
_PREPARED_AFTER: Final = 6  # uses, in psycopg


class Compared(msgspec.Struct, kw_only=True):
    """What was found of one store: figures by round, or why there are none."""

    append: list[float] = msgspec.field(default_factory=list)
    apart: list[Counted] = msgspec.field(default_factory=list)
    together: list[Counted] = msgspec.field(default_factory=list)
    fault: str = ""


async def compare(
    memories: Mapping[str, Memory], texts: Callable[[], str], *, rounds: int, each: int
) -> dict[str, Compared]:
    """Append to all *memories* in turns, one by one, and with several writers; one that fails leaves."""
    found = {name: Compared() for name in memories}
    for name, memory in memories.items():
        await _guarded(found[name], _warm(memory))
    await _one_by_one(memories, found, texts, rounds=rounds, each=each)
    for _ in range(rounds):
        for name, memory in memories.items():
            if not found[name].fault:
                await _guarded(found[name], _at_once(memory, found[name], each))
    return found


async def _one_by_one(
    memories: Mapping[str, Memory], found: Mapping[str, Compared], texts: Callable[[], str], *, rounds: int, each: int
) -> None:
    session = "00000000-0000-4000-8000-000000000001"

    def appending(name: str) -> Work:
        return lambda: _guarded(found[name], memories[name].append(session, texts()))

    taken = await latencies({name: appending(name) for name in memories}, rounds=rounds, each=each)
    for name, seconds in taken.items():
        found[name].append = seconds


async def _warm(memory: Memory) -> None:
    """Use each connection so often that its statements are prepared."""
    await written_at_once(memory, sessions=WRITERS, each=_PREPARED_AFTER)


async def _at_once(memory: Memory, compared: Compared, each: int) -> None:
    compared.apart.append(await written_at_once(memory, sessions=WRITERS, each=each))
    compared.together.append(await written_at_once(memory, sessions=1, each=each))


async def _guarded(compared: Compared, call: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(_MOST_S):
            await call
    except TimeoutError:
        compared.fault = compared.fault or f"did not end within {_MOST_S:g} s"
    except Exception as fault:  # noqa: BLE001 - it is shown in the line of this store
        compared.fault = compared.fault or f"{type(fault).__name__}: {fault}"


def cells(name: str, version: str, found: Mapping[str, Compared]) -> tuple[str, ...]:
    """Return the line of a store: ratios to plain psycopg, and what it lost."""
    compared, plain = found[name], found[PLAIN]
    if compared.fault or plain.fault:
        fault = " ".join((compared.fault or plain.fault).split())[:160].replace("|", "\\|")
        return name, version, f"error: {fault}", "", "", "", ""
    counted = total([*compared.apart, *compared.together])
    failed = f", {len(counted.errors):,} failed" if counted.errors else ""
    return (
        name,
        version,
        _median(compared.append, plain.append),
        _median(_rates(compared.apart), _rates(plain.apart)),
        _median(_rates(compared.together), _rates(plain.together)),
        f"{counted.lost:,} of {counted.acknowledged:,}{failed}",
        "no feed" if counted.missed is None else f"{counted.missed:,} of {counted.acknowledged:,}",
    )


def _rates(counted: list[Counted]) -> list[float]:
    return [each.acknowledged / each.seconds for each in counted]


def _median(ours: list[float], theirs: list[float]) -> str:
    value = statistics.median(first / other for first, other in zip(ours, theirs, strict=True))
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
