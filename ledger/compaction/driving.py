"""Running a generator that asks a model: the one loop for live compactions, what-ifs and pure replays."""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar, cast

from ledger.errors import SummarizerFailed
from ledger.ports import SummaryText
from projections.prompts import SummaryRequest

R = TypeVar("R")


async def drive(
    steps: Generator[SummaryRequest, SummaryText, R], answer: Callable[[SummaryRequest], Awaitable[SummaryText]]
) -> R:
    """Return what *steps* returns; each request that it yields goes to *answer*, whose failures are thrown in.

    Raises:
        SummarizerFailed: *steps* could do nothing about a failure.
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
    """Return the result of a *coroutine* that awaits nothing, for a pure caller of `drive`: it needs no event loop."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return cast(R, ended.value)
    raise RuntimeError("the coroutine waits for something")
