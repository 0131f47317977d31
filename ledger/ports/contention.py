"""Retries after a conflict with another writer."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from ledger.errors import Unavailable, VersionConflict

T = TypeVar("T")

ATTEMPTS: Final = 50  # each lost attempt means that another writer's append succeeded


async def until_uncontended(
    attempt: Callable[[int], Awaitable[T]],
    *,
    attempts: int = ATTEMPTS,
    message: str = "other writers kept coming first; try again",
) -> T:
    """Return the result of *attempt*, called with its number, from 0, and again after each `VersionConflict`.

    Raises:
        Unavailable: every attempt ended in a conflict; its text is *message*.
    """
    for number in range(attempts):
        try:
            return await attempt(number)
        except VersionConflict:
            continue
    raise Unavailable(message)
