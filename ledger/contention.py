"""Trying again where another writer came first."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ledger.errors import Unavailable, VersionConflict

T = TypeVar("T")

ATTEMPTS: Final = 50  # each lost attempt means that somebody else's append went through


async def until_uncontended(
    attempt: Callable[[int], Awaitable[T]],
    *,
    attempts: int = ATTEMPTS,
    message: str = "other writers kept coming first; try again",
) -> T:
    """Return the result of *attempt*, which is called again after each `VersionConflict` with its number, from 0.

    Raises:
        Unavailable: every attempt met a conflict; its text is *message*.
    """
    for number in range(attempts):
        try:
            return await attempt(number)
        except VersionConflict:
            continue
    raise Unavailable(message)
