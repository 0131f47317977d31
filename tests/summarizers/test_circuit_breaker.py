"""A model that is down is not called for a while, and then called again. Source: R-CMP-9, V-CMP-5; trust M-1, F-12."""

import asyncio

import pytest

from ledger.errors import CompactionNotCompleted, SummarizerFailed
from ledger.llm.summarizers.circuit_breaker import CircuitBreaker
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, says, status
from tests.support.model_scene import SMALL, messages, outcomes, said, talk

NOTHING = SummaryRequest(messages=(), template_hash="")


async def attempts(ledger: MemoryLedger, endpoint: Endpoint, entries: int) -> list[int]:
    """Add *entries* one by one, each after the last outcome; return at which of them the model was asked."""
    found = []
    for number in range(1, entries + 1):
        before = len(endpoint.asked)
        await talk(ledger, 1, first=number)
        await ledger.settle()
        found += [number] * (len(endpoint.asked) - before)
    return found


async def test_a_failing_model_is_asked_again_after_1_2_4_and_8_more_entries(
    small: MemoryLedger, endpoint: Endpoint
) -> None:
    """V-CMP-5, with an entry limit of 5."""
    endpoint.answers(says(""))
    assert await attempts(small, endpoint, 40) == [6, 7, 9, 13, 21, 37]
    assert await said(small) == messages(1, 40)


async def test_after_a_success_the_next_failure_counts_from_one_again(small: MemoryLedger, endpoint: Endpoint) -> None:
    endpoint.answers(says(""), says(""), says("A summary."), says(""))
    assert await attempts(small, endpoint, 16) == [6, 7, 9, 14, 15]
    assert await outcomes(small) == [
        *["requested", "failed empty"] * 2,
        *["requested", "completed"],
        *["requested", "failed empty"] * 2,
    ]


async def test_an_outage_loses_nothing_and_ends_with_one_summary(on_store: MemoryLedger, endpoint: Endpoint) -> None:
    endpoint.answers(status(500), status(429), says("All of it."))
    assert await attempts(on_store, endpoint, 10) == [6, 7, 9]
    stats = await on_store.get_stats("s")
    assert (stats.total_entries, stats.compressed_entries, stats.summaries) == (10, 8, 1)
    assert await said(on_store) == messages(9, 10)


class Failing:
    """A summarizer that counts how often it is asked."""

    method = "llm"
    model = None

    def __init__(self) -> None:
        self.asked = 0
        self.down = True

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.asked += 1
        if self.down:
            raise SummarizerFailed("error", "down")
        return SummaryText("A summary.")


async def asked_and_refused(breaker: CircuitBreaker) -> str:
    with pytest.raises(SummarizerFailed) as failure:
        await breaker.summarize(NOTHING)
    return str(failure.value)


async def test_a_model_that_failed_five_times_in_a_row_is_left_alone_for_a_while() -> None:
    inner, now = Failing(), [100.0]
    breaker = CircuitBreaker(inner, monotonic=lambda: now[0])
    for _ in range(5):
        assert await asked_and_refused(breaker) == "down"
    assert "left alone" in await asked_and_refused(breaker)
    assert inner.asked == 5
    now[0] += 31
    assert await asked_and_refused(breaker) == "down"
    assert "left alone" in await asked_and_refused(breaker), "one more failure opens it again"
    now[0] += 31
    inner.down = False
    assert (await breaker.summarize(NOTHING)).text == "A summary."
    inner.down = True
    assert await asked_and_refused(breaker) == "down", "a success closes it"
    assert inner.asked == 8


async def test_a_model_that_hangs_is_left_alone_too() -> None:
    """The deadline cancels the call; that counts as a failure."""
    calls = []

    async def endless(prompt: str) -> str:
        calls.append(prompt)
        await asyncio.Event().wait()
        return ""

    ledger = ledger_over(InMemoryStore(), config=SMALL, summarizer_timeout_s=0.01)
    ledger.set_summarizer(None, endless)
    await talk(ledger, 4)
    for _ in range(7):
        with pytest.raises(CompactionNotCompleted):
            await ledger.compress("s")
    assert len(calls) == 5
    assert (await outcomes(ledger))[-1] == "failed error"
    await ledger.close()


async def test_one_circuit_spans_all_sessions_of_a_ledger(endpoint: Endpoint, small: MemoryLedger) -> None:
    endpoint.answers(status(500))
    for number in range(8):
        await talk(small, session=f"s{number}")
        await small.settle()
    assert len(endpoint.asked) == 5
    assert await outcomes(small, "s7") == ["requested", "failed error"]
