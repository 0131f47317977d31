"""Concurrent writers, what is lost, and what a follower misses."""

import asyncio
import time
import uuid
from collections.abc import Sequence
from typing import Final

import msgspec

from bench.peers.memories import WRITERS, Memory

_POLL_S: Final = 0.005


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What came of concurrent appends: acknowledged ones, and of these those lost and those a follower missed.

    *missed* is None where there is nothing to follow.
    """

    seconds: float
    acknowledged: int
    lost: int
    missed: int | None = None
    errors: tuple[str, ...] = ()


async def written_at_once(memory: Memory, *, sessions: int, each: int, writers: int = WRITERS) -> Counted:
    """Let *writers* append *each* messages to so many new sessions, while one follower reads."""
    names = [str(uuid.uuid4()) for _ in range(sessions)]  # noqa: TID251 - a benchmark may draw ids
    for name in names:
        await memory.append(name, f"first of {name}")
    follower = _Follower(memory)
    following = asyncio.create_task(follower.run())
    acknowledged: list[set[str]] = [set() for _ in names]
    errors: list[str] = []

    async def write(writer: int) -> None:
        number = writer % sessions
        for turn in range(each):
            text = f"{names[number]} {writer} {turn}"
            try:
                await memory.append(names[number], text)
            except Exception as fault:  # noqa: BLE001 - not acknowledged, and reported
                errors.append(f"{type(fault).__name__}: {fault}")
            else:
                acknowledged[number].add(text)

    started = time.perf_counter()
    await asyncio.gather(*(write(writer) for writer in range(writers)))
    seconds = time.perf_counter() - started
    seen = await follower.finish(following)
    everything = set[str]().union(*acknowledged)
    return Counted(
        seconds=seconds,
        acknowledged=len(everything),
        lost=sum([len(texts - set(await memory.texts(name))) for name, texts in zip(names, acknowledged, strict=True)]),
        missed=None if seen is None else len(everything - seen),
        errors=tuple(errors),
    )


def total(counted: Sequence[Counted]) -> Counted:
    """Return the sums of several runs."""
    missed = [each.missed for each in counted if each.missed is not None]
    return Counted(
        seconds=sum(each.seconds for each in counted),
        acknowledged=sum(each.acknowledged for each in counted),
        lost=sum(each.lost for each in counted),
        missed=sum(missed) if missed else None,
        errors=tuple(error for each in counted for error in each.errors),
    )


class _Follower:
    """Asks for what is after the last place it has seen, and never looks back."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._place = 0
        self._seen: set[str] = set()
        self._ends = False

    async def run(self) -> bool:
        """Follow until told to end; return False if there is nothing to follow."""
        while True:
            ends = self._ends
            while page := await self._memory.feed(self._place):
                self._place = page[-1][0]
                self._seen.update(text for _, text in page)
            if page is None:
                return False
            if ends:
                return True
            await asyncio.sleep(_POLL_S)

    async def finish(self, following: "asyncio.Task[bool]") -> set[str] | None:
        """Read to the end, and return what was seen; None if there is nothing to follow."""
        self._ends = True
        return self._seen if await following else None
