"""Runs of agents that fail, are left or die lose no message. Source: adapters AD-10, AD-11, PY-1."""

import asyncio
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior

from ledger.adapters.pydantic_ai import LedgerHistory
from ledger.application.writing.entry_writes import add_drafts
from ledger.errors import DatabaseUnavailable, InvalidInput
from ledger.events.limits import CONTENT_BYTES
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.pydantic_ai.agents import calls, texts, weather_agent
from tests.support.failing_store import FailsNthCall
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Endpoint, hang, raw, says

pytestmark = pytest.mark.postgres


async def test_a_killed_process_is_resumed_from_its_last_model_call__PY_1(
    url: str, namespace: str, model: Endpoint
) -> None:
    model.answers(calls("Paris"), says("Sunny."))
    command = [sys.executable, "-m", "tests.adapters.pydantic_ai.crashing_process", url, namespace, model.url]
    for expected in (["Weather?", "weather"], ["Weather?", "weather"] * 2):
        assert (await asyncio.to_thread(subprocess.run, command, check=False)).returncode == -9
        model.answers(calls("Paris"), says("Sunny."))
        async with LedgerHistory(url, namespace=namespace) as history:
            found = texts(await history.conversation("t").messages())
        assert found == expected
    model.answers(says("Sunny."))
    async with LedgerHistory(url, namespace=namespace) as history:
        agent = weather_agent(model.url, history)
        resumed = await agent.run(conversation_id="t")
        assert resumed.output == "Sunny."
        kept = texts(await history.conversation("t").messages())
        assert kept[-4:] == ["Weather?", "weather", "Paris: sunny", "Sunny."]
        assert (await history.ledger.verify("t")).ok


async def test_after_a_crash_a_new_prompt_goes_on_too(history: LedgerHistory, model: Endpoint) -> None:
    """An entry of another writer is at the end as one of a process that died is."""
    await history.ledger.add_user_message("t", "Weather?")
    await history.ledger.add_tool_call("t", "weather", {"city": "Paris"}, tool_call_id="c1")
    model.answers(says("Never mind."))
    result = await weather_agent(model.url, history).run("And now?", conversation_id="t")
    assert result.output == "Never mind."
    assert [message["role"] for message in model.asked[-1]["messages"]][-3:] == ["assistant", "tool", "user"]
    assert texts(await history.conversation("t").messages())[-3:] == ["weather", "And now?", "Never mind."]


async def test_a_failing_model_and_a_failing_tool_leave_what_was_said(history: LedgerHistory, model: Endpoint) -> None:
    agent = weather_agent(model.url, history)

    @agent.tool_plain
    def fails(city: str) -> str:
        raise RuntimeError("no network")

    model.answers(calls("Paris", tool="fails"))
    with pytest.raises(RuntimeError, match="no network"):
        await agent.run("Weather?", conversation_id="t")
    found = await history.conversation("t").messages()
    assert (found[-1].kind, found[-1].state) == ("request", "interrupted")
    model.answers(raw(b"{}"))
    with pytest.raises(UnexpectedModelBehavior):
        await agent.run("Again", conversation_id="t")
    assert texts(await history.conversation("t").messages())[-1] == "Again"
    model.answers(says("Here."))
    assert (await agent.run("And again", conversation_id="t")).output == "Here."


async def test_a_run_that_is_left_keeps_the_answer(history: LedgerHistory, model: Endpoint) -> None:
    model.answers(calls("Paris"))
    async with weather_agent(model.url, history).iter("Weather?", conversation_id="t") as run:
        async for node in run:
            if Agent.is_call_tools_node(node):
                break
    assert texts(await history.conversation("t").messages()) == ["Be brief.", "Weather?", "weather"]


async def test_a_prompt_over_the_limit_is_refused_before_the_model_is_asked(
    history: LedgerHistory, model: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ledger.session.attachments.BESIDE_BYTES", CONTENT_BYTES)
    with pytest.raises(InvalidInput, match=r"messages\[0\]") as refused:
        await weather_agent(model.url, history).run("x " * CONTENT_BYTES, conversation_id="t")
    assert "not in the ledger" in str(refused.value.__notes__)
    assert model.asked == []
    assert await history.conversation("t").messages() == []


async def test_a_cancelled_run_keeps_its_prompt__AD_11(history: LedgerHistory, model: Endpoint) -> None:
    model.answers(hang)
    running = asyncio.create_task(weather_agent(model.url, history).run("Weather?", conversation_id="t"))
    await asyncio.to_thread(model.arrived.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    model.released.set()
    assert texts(await history.conversation("t").messages()) == ["Be brief.", "Weather?"]


async def runs_with_a_failing_call(model: Endpoint, *, after: bool) -> list[tuple[bool, list[str]]]:
    """Return, for each call of the store that fails once, whether the run ended, and what the log has then."""
    found = []
    for n in range(1, 1_000):
        model.answers(calls("Paris"), says("Sunny."))
        memory = InMemoryStore()
        failing: Any = FailsNthCall(memory, n, after=after)
        ended = True
        try:
            await weather_agent(model.url, LedgerHistory(ledger=ledger_over(failing))).run("W?", conversation_id="t")
        except DatabaseUnavailable:
            ended = False
        recorded = await LedgerHistory(ledger=ledger_over(memory)).conversation("t").messages()
        found.append((ended, texts(recorded)))
        if not failing.failed:
            break
    assert len(found) > 5
    return found


EXPECTED = ["Be brief.", "W?", "weather", "Paris: sunny", "Sunny."]


@pytest.mark.parametrize("after", [False, True])
async def test_a_database_that_fails_once_neither_loses_nor_doubles_a_message__AD_10(
    model: Endpoint, after: bool
) -> None:
    for ended, recorded in await runs_with_a_failing_call(model, after=after):
        assert recorded == (EXPECTED if ended else EXPECTED[: len(recorded)])


async def test_a_message_that_is_written_twice_is_noticed(model: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a write that is tried again has another key, and its entries have other ids."""

    async def add(handle: Any, stream: Any, drafts: Any, *, key: str, **other: Any) -> Any:
        forgetful = [msgspec.structs.replace(draft, entry_id=None) for draft in drafts]
        return await add_drafts(handle, stream, forgetful, **other)

    monkeypatch.setattr("ledger.adapters.stored_conversation.add_drafts", add)
    found = await runs_with_a_failing_call(model, after=True)
    assert any(recorded != EXPECTED for ended, recorded in found if ended)
