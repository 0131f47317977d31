"""Run a generator that asks a model: the one loop for live compactions, what-ifs and pure replays."""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from ledger.errors import SummarizerFailed
from ledger.ports import SummaryText
from projections.prompts import SummaryRequest

R = TypeVar("R")


async def drive(
    steps: Generator[SummaryRequest, SummaryText, R], answer: Callable[[SummaryRequest], Awaitable[SummaryText]]
) -> R:
    """Return what *steps* returns; *answer* answers each request it yields, and a failure is thrown into *steps*.

    Raises:
        SummarizerFailed: *steps* did not handle a failure.
    """
    try:
        request = next(steps)
        while True:
            try:
                found = await answer(request)
            except SummarizerFailed as failure:
                request = steps.throw(failure)
            else:
                request = steps.send(found)
    except StopIteration as ended:
        return cast(R, ended.value)


def run_at_once(coroutine: Coroutine[Any, Any, R]) -> R:
    """Return the result of a *coroutine* that never waits, without an event loop: for pure callers of `drive`."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return cast(R, ended.value)
    raise RuntimeError("the coroutine waits for something")
