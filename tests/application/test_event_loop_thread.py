"""Calls of many threads on one event loop: each gets its own answer, and knows whether it is alone."""

import asyncio
import random
import secrets
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ledger.application.facade import event_loop_thread
from ledger.application.facade.event_loop_thread import EventLoopThread
from ledger.ports.lone_calls import keeps_nobody_waiting

THREADS = 8


@asynccontextmanager
async def nothing() -> AsyncIterator[None]:
    yield None


@pytest.fixture
def thread() -> Iterator[EventLoopThread[None]]:
    with EventLoopThread(nothing, reopens=True) as opened:
        yield opened


async def echo(token: int, turns: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    if token % 7 == 0:
        raise ValueError(token)
    return token


def wrong_answers(thread: EventLoopThread[None], seed: int, *, calls: int) -> int:
    """Return how many of the calls, made by several threads at once, got another answer than their own."""
    loop = thread.loop()

    def work(number: int) -> int:
        chance, wrong = random.Random(seed + number), 0
        for call in range(calls):
            token = number * calls + call
            try:
                wrong += loop.call(echo, token, chance.randrange(4)) != token or token % 7 == 0
            except ValueError as fault:
                wrong += fault.args != (token,) or token % 7 != 0
        return wrong

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(work, range(THREADS)))


def test_each_thread_gets_its_own_answer(thread: EventLoopThread[None]) -> None:
    seed = secrets.randbits(32)
    assert wrong_answers(thread, seed, calls=200) == 0, f"seed {seed}"


def test_an_answer_of_another_call_is_noticed(thread: EventLoopThread[None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: calls whose answers are in one place."""

    class Shared(event_loop_thread._Call):
        answer: Any = None

        def end(self, result: Any, fault: BaseException | None = None) -> None:
            Shared.answer = result, fault
            super().end(None)

        def wait(self) -> Any:
            super().wait()
            result, fault = Shared.answer
            if fault is not None:
                raise fault
            return result

    monkeypatch.setattr(event_loop_thread, "_Call", Shared)
    seed = secrets.randbits(32)
    assert wrong_answers(thread, seed, calls=200) > 0, f"seed {seed}"


def test_a_call_knows_whether_another_thread_waits_too(thread: EventLoopThread[None]) -> None:
    loop, come, go = thread.loop(), threading.Event(), threading.Event()

    def asks() -> bool:
        return keeps_nobody_waiting.get()()

    async def waits() -> bool:
        come.set()
        await asyncio.to_thread(go.wait, 10)
        return asks()

    assert loop.call(asks)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(loop.call, waits)
        assert come.wait(10)
        assert not loop.call(asks)
        go.set()
        assert other.result(10), "it is alone again"
    assert not asks(), "here is no such loop"
