"""The calls of Python functions of `ledger` and `projections` in four operations, each warm, on the in-memory store."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec

import ledger
import projections
from ledger import InMemoryStore, MemoryLedger

_FOLDERS: Final = tuple(f"{Path(package.__path__[0])}/" for package in (ledger, projections))
_WARM: Final = 3


class Walk(msgspec.Struct, frozen=True):
    """How often an operation calls a function of the project, and how many modules these lie in.

    A generator or coroutine that goes on counts as one more call, as in `sys.setprofile`.
    """

    calls: int
    modules: int


async def walks() -> dict[str, Walk]:
    """Return the walk of each operation; the same in each run."""
    async with MemoryLedger.open(namespace="plan", store=InMemoryStore()) as opened:
        number = 0

        async def add() -> None:
            nonlocal number
            number += 1
            await opened.add_entries("growing", [{"role": "user", "content": f"message {number}"}])

        for text in ("one", "two", "three"):  # four events: a session is opened by its first entry
            await opened.add_user_message("short", text)
        operations: dict[str, Callable[[], Awaitable[Any]]] = {
            "add_entries of one entry": add,
            "get_context of three entries": lambda: opened.get_context("short"),
            "what_if of four events": lambda: opened.what_if("short", {"profile": "rolling"}),
            "search in three entries": lambda: opened.search("two", session_id="short"),
        }
        found = {}
        for name, operation in operations.items():
            for _ in range(_WARM):
                await operation()
            found[name] = await _walk(operation)
        return found


async def _walk(operation: Callable[[], Awaitable[Any]]) -> Walk:
    calls = 0
    files = set()

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_filename.startswith(_FOLDERS):
            calls += 1
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        await operation()
    finally:
        sys.setprofile(before)
    return Walk(calls, len(files))


def all_walks() -> dict[str, Walk]:
    """Return the walk of each operation, in an event loop of its own."""
    return asyncio.run(walks())
