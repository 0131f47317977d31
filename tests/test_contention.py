"""Trying again where another writer came first, and driving a generator that asks a model."""

import asyncio
from collections.abc import Generator

import pytest

from ledger.errors import InvalidInput, SummarizerFailed, Unavailable, VersionConflict
from ledger.llm.compaction.driving import drive, run_at_once
from ledger.ports import SummaryText
from ledger.ports.contention import until_uncontended


async def test_an_attempt_is_repeated_until_no_other_writer_comes_first() -> None:
    async def attempt(number: int) -> str:
        if number < 3:
            raise VersionConflict(current=number, expected=0)
        return f"attempt {number}"

    assert await until_uncontended(attempt) == "attempt 3"
    with pytest.raises(Unavailable, match="busy"):
        await until_uncontended(attempt, attempts=3, message="busy")


async def test_an_attempt_that_fails_otherwise_is_not_repeated() -> None:
    created: list[int] = []

    async def attempt(number: int) -> None:
        created.append(number)
        raise InvalidInput("bad_value", "is wrong")

    with pytest.raises(InvalidInput):
        await until_uncontended(attempt)
    assert created == [0]


def questions() -> Generator[str, SummaryText, list[str]]:
    """Ask twice, and tell what came of it."""
    heard = [(yield "first").text]
    try:
        yield "second"
    except SummarizerFailed as failure:
        heard.append(failure.reason)
    return heard


async def answer(request: str) -> SummaryText:
    if request == "second":
        raise SummarizerFailed("empty", "nothing came")
    return SummaryText(f"to the {request}")


async def test_answers_are_sent_to_the_generator_and_failures_thrown_in() -> None:
    assert await drive(questions(), answer) == ["to the first", "empty"]  # type: ignore[arg-type]


def test_what_waits_for_nothing_runs_without_an_event_loop_and_nothing_else_does() -> None:
    assert run_at_once(drive(questions(), answer)) == ["to the first", "empty"]  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="waits"):
        run_at_once(asyncio.sleep(0))
