"""Real runs of the SDK with a handoff, an approval, a crash and ten at once, on PostgreSQL. Source: adapters §2."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import RunConfig, Runner, RunState, set_trace_processors, set_tracing_disabled
from agents.memory import is_openai_responses_compaction_aware_session

from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.memory import MemoryLedger
from tests.adapters.openai_agents.agents_on_server import QUIET, calls, forecasts, run, travel_agents
from tests.support.model_endpoint import Endpoint, says

ROOT = Path(__file__).parents[3]
KINDS = ["message", "function_call", "function_call_output", "function_call", "function_call_output", "message"]


def kinds(items: list[Any]) -> list[str]:
    return [item.get("type") or "message" for item in items]


async def test_a_run_with_a_handoff_is_a_history_that_the_next_run_sees(
    own_ledger: MemoryLedger, model: Endpoint
) -> None:
    session = MemoryLedgerSession("t", ledger=own_ledger)
    model.answers(forecasts)
    first = await run(travel_agents(model.url), "Paris", session)
    assert (first.final_output, first.last_agent.name) == ("So Paris: sunny.", "Forecaster")
    assert kinds(await session.get_items()) == KINDS
    asked = len(model.asked)
    second = await run(travel_agents(model.url), "Rome", session)
    assert second.final_output == "So Rome: sunny."
    said = [
        message["content"] for message in model.asked[asked]["messages"] if message["role"] in {"user", "assistant"}
    ]
    assert "So Paris: sunny." in said
    assert (await own_ledger.verify("t")).ok


@pytest.fixture
def quiet_traces() -> Iterator[None]:
    """Runs are traced, and the traces go nowhere."""
    set_trace_processors([])
    yield
    set_tracing_disabled(True)


@pytest.mark.usefixtures("quiet_traces")
@pytest.mark.parametrize("traced", [False, True])
async def test_entries_say_which_agent_of_which_run_wrote_them__AD_12(
    own_ledger: MemoryLedger, model: Endpoint, traced: bool
) -> None:
    set_tracing_disabled(False)
    session = MemoryLedgerSession("t", ledger=own_ledger)
    model.answers(forecasts)
    config = RunConfig(trace_id="trace_" + "1" * 32) if traced else QUIET
    await Runner.run(travel_agents(model.url), "Paris", session=session, run_config=config)
    told = [entry.metadata or {} for entry in await own_ledger.get_transcript("t")]
    assert [each.get("agent") for each in told] == [None, "Desk", "Desk", "Forecaster", "Forecaster", "Forecaster"]
    assert [each.get("handoff_to") for each in told] == [None, None, "Forecaster", None, None, None]
    assert {each.get("run_id") for each in told} == {"trace_" + "1" * 32 if traced else None}


async def test_the_user_of_a_run_is_found_by_its_context__OA_1(own_ledger: MemoryLedger, model: Endpoint) -> None:
    """One session object for all users; outside of runs there is no context."""

    def user_of(context: Any) -> str | None:
        return None if context is None else str(context.context["user"])

    session = MemoryLedgerSession("t", ledger=own_ledger, user_id=user_of)
    model.answers(forecasts)
    for user in ("ann", "b/b"):
        agent, context = travel_agents(model.url), {"user": user}
        await Runner.run(agent, f"City of {user}", session=session, run_config=QUIET, context=context)
    assert await session.get_items() == []
    for user, name in (("ann", "ann"), ("b/b", "~b%2Fb")):
        entries = await own_ledger.get_transcript("t", user_id=name)
        assert (len(entries), entries[0].content) == (6, f"City of {user}")
        assert len(await MemoryLedgerSession("t", ledger=own_ledger, user_id=user).get_items()) == 6


async def test_a_run_that_a_human_approves_goes_on_later(own_ledger: MemoryLedger, model: Endpoint) -> None:
    """The state is JSON between the two, and the session is opened anew."""
    model.answers(calls("transfer_to_forecaster", "h"), calls("weather", "w", city="Paris"), says("Sunny."))
    waiting = await run(travel_agents(model.url, asks=True), "Paris", MemoryLedgerSession("t", ledger=own_ledger))
    assert [each.name for each in waiting.interruptions] == ["weather"]
    stored = json.dumps(waiting.to_state().to_json())
    agent, session = travel_agents(model.url, asks=True), MemoryLedgerSession("t", ledger=own_ledger)
    state = await RunState.from_json(agent, json.loads(stored))
    state.approve(state.get_interruptions()[0])
    done = await Runner.run(agent, state, session=session, run_config=QUIET)
    assert done.final_output == "Sunny."
    assert kinds(await session.get_items()) == KINDS
    assert (await own_ledger.get_active_entries("t"))[-2].content == "Paris: sunny"


async def test_ten_runs_at_once_lose_nothing_and_split_no_pair(own_ledger: MemoryLedger, model: Endpoint) -> None:
    model.answers(forecasts)
    sessions = [MemoryLedgerSession(f"u{number % 2}", ledger=own_ledger) for number in range(10)]
    for session in sessions[:2]:
        await session.add_items([{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}])
    await asyncio.gather(
        *(run(travel_agents(model.url), f"City{number}", session) for number, session in enumerate(sessions))
    )
    for at in range(2):
        items = await sessions[at].get_items()
        assert len(items) == 2 + 5 * len(KINDS)
        for number in range(at, 10, 2):
            own = [place for place, item in enumerate(items) if f"City{number}" in json.dumps(item)]
            assert own == sorted(own)
            assert len(own) >= 4
        open_calls: set[str] = set()
        for item in items:
            if item.get("type") == "function_call":
                open_calls.add(item["call_id"])
            elif item.get("type") == "function_call_output":
                open_calls.remove(item["call_id"])
        assert open_calls == set()
        assert (await own_ledger.verify(f"u{at}")).ok


async def test_a_run_whose_process_was_killed_is_resumed(
    own_ledger: MemoryLedger, url: str, namespace: str, model: Endpoint
) -> None:
    model.answers(forecasts)
    command = [sys.executable, "-m", "tests.adapters.openai_agents.crashing_process", url, namespace, model.url]
    done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    session = MemoryLedgerSession("t", ledger=own_ledger)
    left = await session.get_items()
    assert kinds(left)[0] == "message", "the question was there before the model was asked"
    again = await run(travel_agents(model.url), "Oslo", session)
    assert again.final_output == "So Oslo: sunny."
    assert (await session.get_items())[: len(left)] == left
    assert (await own_ledger.verify("t")).ok


async def test_what_if_fork_and_seen_of_a_run(own_ledger: MemoryLedger, model: Endpoint) -> None:
    session = MemoryLedgerSession("t", ledger=own_ledger)
    model.answers(forecasts)
    await run(travel_agents(model.url), "Paris", session)
    before = session.version
    await run(travel_agents(model.url), "Rome", session)
    tried = await own_ledger.what_if("t", {"window": {"type": "max_tokens", "memory_max_tokens": 40}})
    assert 0 < len(tried.window.entries) < len(await session.get_items())
    forked = await session.fork("t-b", version=before)
    assert await forked.get_items() == await session.at(version=before).get_items()
    await run(travel_agents(model.url), "Oslo", forked)
    assert len(await forked.get_items()) == len(await session.get_items())
    context = await own_ledger.get_context("t", record=True)
    assert (await own_ledger.seen("t")).verdict == "proved"
    assert context.entries[-1].content == "So Rome: sunny."


async def test_the_past_of_an_unknown_session_is_empty__AD_14(own_ledger: MemoryLedger) -> None:
    session = MemoryLedgerSession("unknown", ledger=own_ledger)
    assert await session.at(version=3).get_items() == []
    assert await session.at(at="2026-01-01T00:00:00Z").get_items() == []


async def test_the_ledger_of_a_session_has_all_that_a_ledger_has(own_ledger: MemoryLedger) -> None:
    session = MemoryLedgerSession("t", ledger=own_ledger)
    heard: list[str] = []
    await session.ledger.on("entry:added", lambda session_id, entry: heard.append(session_id))
    await session.add_items([{"role": "user", "content": "I live in Rome."}])
    await own_ledger.settle()
    assert heard == ["t"]
    await session.ledger.long_term.create([{"id": "r-1", "text": "lives in Rome"}])
    assert (await own_ledger.long_term.get("r-1")).text == "lives in Rome"
    assert len(await session.ledger.export_file("t")) > 1
    with pytest.raises(AttributeError, match="LongTermMemory has no method speak"):
        session.ledger.long_term.speak  # noqa: B018 - looking it up is what fails


def test_the_sdk_does_not_take_it_for_one_that_compacts__OA_8() -> None:
    assert not is_openai_responses_compaction_aware_session(MemoryLedgerSession("t"))
