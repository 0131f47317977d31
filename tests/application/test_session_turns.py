"""The turns of writes to one session: together or alone, in order of arrival."""

import asyncio
import random

import pytest

from ledger.application.commands import session_turns
from ledger.application.commands.session_turns import SessionTurns


async def take_turns(seed: int) -> None:
    """Let tasks take turns, and cancel some; assert that nobody is beside one that is alone, and that all go."""
    chance, turns = random.Random(seed), SessionTurns()
    inside: list[bool] = []
    began: list[int] = []

    async def work(number: int, together: bool, pauses: int) -> None:
        await turns.begin(1, together=together)
        began.append(number)
        inside.append(together)
        assert all(inside) or len(inside) == 1
        try:
            for _ in range(pauses):
                await asyncio.sleep(0)
        finally:
            inside.remove(together)
            turns.end(1, together=together)

    tasks = []
    for number in range(40):
        tasks.append(asyncio.create_task(work(number, chance.random() < 0.7, chance.randrange(5))))
        if chance.random() < 0.2:
            chance.choice(tasks).cancel()
        if chance.random() < 0.5:
            await asyncio.sleep(0)
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} <= {type(None), asyncio.CancelledError}
    assert began == sorted(began)
    assert not turns._sessions


async def take_turns_often(seed: int) -> None:
    for number in range(50):
        await take_turns(seed + number)


async def test_a_turn_alone_excludes_others_whoever_is_cancelled(seed: int) -> None:
    await take_turns_often(seed)


async def test_turns_that_admit_everybody_are_noticed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    monkeypatch.setattr(session_turns._Session, "admits", lambda self, *, together: True)
    with pytest.raises(AssertionError):
        await take_turns_often(seed)
