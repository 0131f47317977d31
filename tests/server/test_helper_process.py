"""A process that answers requests for another one. Source: trust S-17."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.errors import LedgerError, Unavailable
from ledger.server.helper_process import HelperProcess


@asynccontextmanager
async def open_toy(refused: str = "") -> AsyncIterator[ASGIApp]:
    if refused:
        raise Unavailable(refused)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"]:
            case "/crash":
                raise ValueError
            case "/busy":
                time.sleep(60)
            case "/second":
                await asyncio.sleep(1)
            case "/wait":
                await asyncio.sleep(60)
        scope["state"]["route"] = "toy"
        await send({"type": "http.response.start", "status": os.getpid(), "headers": []})
        await send({"type": "http.response.body", "body": (await receive())["body"], "more_body": False})

    yield answer


@pytest.fixture
async def helper() -> AsyncIterator[HelperProcess]:
    process = HelperProcess(open_toy)
    yield process
    await process.close()


async def ask(helper: HelperProcess, path: str = "/", body: bytes = b"") -> tuple[list[Message], dict[str, str]]:
    answer: list[Message] = []

    async def send(message: Message) -> None:
        answer.append(message)

    scope: dict[str, Any] = {"type": "http", "path": path, "state": {}}
    known = await helper.answer(scope, body, send)
    return answer, known


async def pid_of(helper: HelperProcess) -> int:
    answer, _ = await ask(helper)
    return int(answer[0]["status"])


async def test_an_idle_process_ends_and_the_next_request_starts_another() -> None:
    """trust S-17: but none that is busy for longer."""
    helper = HelperProcess(open_toy, idle_s=0.3)
    try:
        pid = await pid_of(helper)
        (start, _), _ = await ask(helper, "/second")
        assert start["status"] == pid
        await asyncio.sleep(0.1)
        assert await pid_of(helper) == pid
        async with asyncio.timeout(20):
            while psutil.pid_exists(pid):
                await asyncio.sleep(0.05)
        assert await pid_of(helper) != pid
    finally:
        await helper.close()


async def test_a_process_that_is_started_ahead_answers_the_next_request_and_ends_when_idle() -> None:
    """trust S-17: none is started beside it."""
    helper = HelperProcess(open_toy, idle_s=0.3)
    try:
        assert not helper.running
        helper.start()
        assert not helper.running, "it does not wait"
        helper.start()
        pid = await pid_of(helper)
        assert helper.running
        async with asyncio.timeout(20):
            while helper.running or psutil.pid_exists(pid):
                await asyncio.sleep(0.05)
        helper.start()
        async with asyncio.timeout(60):
            while not helper.running:
                await asyncio.sleep(0.05)
    finally:
        await helper.close()
    assert not helper.running


async def test_why_a_process_did_not_start_ahead_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    helper = HelperProcess(open_toy, "the database is away")
    try:
        helper.start()
        async with asyncio.timeout(60):
            while "the database is away" not in caplog.text:
                await asyncio.sleep(0.05)
        assert not helper.running
    finally:
        await helper.close()


async def test_requests_are_answered_by_another_process_at_the_same_time(helper: HelperProcess) -> None:
    bodies = [bytes([number]) * 100_000 for number in range(4)]
    answers = await asyncio.gather(*(ask(helper, body=body) for body in bodies))
    assert [answer[1]["body"] for answer, _ in answers] == bodies
    assert {answer[0]["status"] for answer, _ in answers}.isdisjoint({os.getpid()})
    assert answers[0][1] == {"route": "toy"}


async def test_a_request_that_crashes_is_answered_as_a_crash(helper: HelperProcess) -> None:
    with pytest.raises(LedgerError):
        await ask(helper, "/crash")
    await ask(helper)


async def test_a_cancelled_request_ends_and_leaves_the_others_alone(helper: HelperProcess) -> None:
    pid = await pid_of(helper)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await ask(helper, "/wait")
    await asyncio.sleep(1.2)
    assert await pid_of(helper) == pid


async def test_a_request_that_cannot_be_cancelled_ends_with_its_process(helper: HelperProcess) -> None:
    """What computes does not listen; whoever waits for the same process is refused, and the next one is answered."""
    pid = await pid_of(helper)
    waits = asyncio.create_task(ask(helper, "/wait"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await ask(helper, "/busy")
    with pytest.raises(Unavailable, match="may have been carried out"):
        await asyncio.wait_for(waits, 10)
    assert await pid_of(helper) != pid


async def test_a_process_that_was_killed_is_started_again(helper: HelperProcess) -> None:
    pid = await pid_of(helper)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Unavailable):
        await asyncio.gather(*(ask(helper, "/wait") for _ in range(2)))
    assert await pid_of(helper) != pid


async def test_it_ends_when_it_is_closed_or_its_parent_died() -> None:
    """Both close the socket."""
    helper = HelperProcess(open_toy)
    pid = await pid_of(helper)
    await helper.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_process_that_cannot_start_gives_its_reason() -> None:
    with pytest.raises(Unavailable, match="no database"):
        await ask(HelperProcess(open_toy, "no database"))
