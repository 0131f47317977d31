"""Real runs of agents on the ledger: tools, state, runs at once, a killed process. Source: adapters GA-1."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.errors import StaleSessionError
from google.adk.events import Event, EventActions
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from ledger.adapters.google_adk import LedgerSessionService
from tests.adapters.google_adk.agents import APP, USER, agent, runner, say
from tests.support.model_endpoint import Endpoint, says

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning"),
]

ROOT = Path(__file__).parents[3]
S: Any = {"app_name": APP, "user_id": USER, "session_id": "s"}


@pytest.fixture
async def service(url: str, namespace: str) -> AsyncIterator[LedgerSessionService]:
    """A service that opened its own ledger, on PostgreSQL."""
    async with LedgerSessionService(url, namespace=namespace, allow_unsafe=True) as found:
        yield found


async def got(service: Any) -> Session:
    found = await service.get_session(**S)
    assert isinstance(found, Session)
    return found


def kinds(events: list[Event]) -> list[str]:
    """Return what each event is, with its text."""
    found = []
    for event in events:
        (part,) = (event.content or types.Content()).parts or []
        call, response = part.function_call, part.function_response
        found.append(f"call {call.name}" if call else f"result {response.response}" if response else part.text or "")
    return found


async def test_a_run_with_a_tool_is_stored_as_the_sdk_stores_it__GA_1(
    service: LedgerSessionService, model: Endpoint
) -> None:
    answers = says("CALL Paris"), says("Sunny in Paris."), says("You are welcome.")
    states = []
    for each in (service, InMemorySessionService()):
        model.answers(*answers)
        runs = runner(each, model.url)
        await say(runs, "Weather in Paris?")
        await say(runs, "Thanks")
        session = await got(each)
        states.append(session.state)
        assert kinds(session.events) == [
            "Weather in Paris?",
            "call weather",
            "result {'result': 'Paris: sunny'}",
            "Sunny in Paris.",
            "Thanks",
            "You are welcome.",
        ]
    assert states[0] == states[1]
    assert states[0] == {"city": {"name": "Paris"}, "user:last_city": "Paris", "app:lookups": 1}
    names = service.names(**S)
    entries = await service.ledger.get_transcript(**names)
    assert [(entry.kind, entry.role, entry.tool_name) for entry in entries[:4]] == [
        ("message", "user", None),
        ("tool_call", "assistant", "weather"),
        ("tool_result", "tool", "weather"),
        ("message", "assistant", None),
    ]
    assert entries[1].tool_call_id == entries[2].tool_call_id
    assert {entry.metadata["agent"] for entry in entries} == {"user", "guide"}
    assert len({entry.metadata["run_id"] for entry in entries}) == 2


async def test_a_streamed_run_stores_no_partial_event__GA_1(service: LedgerSessionService, model: Endpoint) -> None:
    model.answers(says("Sunny in Paris."))
    runs = Runner(app_name=APP, agent=agent(model.url), session_service=service, auto_create_session=True)
    message = types.Content(role="user", parts=[types.Part(text="Weather?")])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    events = [
        event async for event in runs.run_async(user_id=USER, session_id="s", new_message=message, run_config=config)
    ]
    assert [bool(event.partial) for event in events] == [True, False]
    assert kinds((await got(service)).events) == ["Weather?", "Sunny in Paris."]


async def test_afterwards_it_is_searched_shown_replayed_forked_and_proved__GA_1(
    service: LedgerSessionService, model: Endpoint
) -> None:
    model.answers(says("CALL Paris"), says("Sunny in Paris."), says("It is Lyon now."))
    runs = runner(service, model.url)
    await say(runs, "Weather in Paris?")
    version = service.version_of(await got(service))
    await say(runs, "And in Lyon?")
    ledger, names = service.ledger, service.names(**S)
    assert [hit.session_id for hit in await ledger.search("sunny")][:1] == ["s"]

    shown = await ledger.get_context(**names, record=True)
    assert "Sunny in Paris." in shown.text
    audit = await ledger.seen(**names)
    assert audit.verdict == "proved"
    assert "Sunny in Paris." in audit.text

    tried = await ledger.what_if(config={"window": {"type": "max_tokens", "memory_max_tokens": 20}}, **names)
    assert "Weather in Paris?" in shown.text
    assert "Weather in Paris?" not in [entry.content for entry in tried.window.entries]

    fork = await service.fork_session(**S, new_session_id="other", version=version)
    assert kinds(fork.events)[-1] == "Sunny in Paris."
    model.answers(says("Another way."))
    await say(runs, "What else?", session_id="other")
    past = await service.get_session_at(**S, version=version)
    assert past is not None
    assert past.events == fork.events
    assert kinds((await got(service)).events)[-1] == "It is Lyon now."
    assert (await ledger.verify()).ok


async def test_ten_runs_of_one_session_at_once_lose_and_split_nothing__GA_1(
    service: LedgerSessionService, model: Endpoint
) -> None:
    """A run that finds newer events is refused by the SDK's own error; what it had stored stays."""
    model.answers(says("Hello."))
    runs, told, refused = runner(service, model.url), list[str](), 0
    await service.create_session(**S)

    async def run(number: int) -> None:
        nonlocal refused
        for attempt in range(100):
            message = types.Content(role="user", parts=[types.Part(text=f"message {number}")])
            try:
                async for event in runs.run_async(user_id=USER, session_id="s", new_message=message):
                    told.append(event.id)
            except StaleSessionError:
                refused += 1
                await asyncio.sleep(0.001 * attempt)
            else:
                return
        raise AssertionError(f"run {number} never came to its end")

    await asyncio.gather(*map(run, range(10)))
    stored = (await got(service)).events
    ids = Counter(event.id for event in stored)
    assert max(ids.values()) == 1
    assert set(told) <= set(ids), "what a run gave to its caller is stored"
    ended = Counter(event.invocation_id for event in stored if event.author == "guide")
    assert len(ended) == 10
    for invocation in ended:
        own = [event for event in stored if event.invocation_id == invocation]
        assert [event.author for event in own] == ["user", "guide"]
        at = stored.index(own[0])
        assert stored[at + 1] is own[1], "an answer comes right after its question"
    assert (await service.ledger.verify()).ok
    print(f"{refused} runs were refused and repeated")


async def test_ten_sessions_at_once_count_in_one_state_of_the_app__LF_6(
    service: LedgerSessionService, model: Endpoint
) -> None:
    model.answers(*[says("CALL Paris")] * 10, says("Sunny."))
    runs = runner(service, model.url)
    await asyncio.gather(*(say(runs, "Weather?", session_id=f"s{number}") for number in range(10)))
    listed = (await service.list_sessions(app_name=APP, user_id=USER)).sessions
    assert len(listed) == 10
    assert {each.state["app:lookups"] for each in listed} <= {*range(1, 11)}
    assert {each.state["user:last_city"] for each in listed} == {"Paris"}
    assert (await service.ledger.verify()).ok


async def test_two_services_on_one_database_see_each_other_and_lose_no_state__LF_6(
    service: LedgerSessionService, url: str, namespace: str
) -> None:
    async with LedgerSessionService(url, namespace=namespace, actor="two", allow_unsafe=True) as other:
        services = [service, other]
        sessions = [await each.create_session(**{**S, "session_id": f"s{at}"}) for at, each in enumerate(services)]

        async def change(at: int, number: int) -> None:
            delta = {f"app:{at}-{number}": number, f"user:{at}-{number}": number, "app:last": number}
            actions = EventActions(state_delta=delta)
            await services[at].append_event(sessions[at], Event(author="guide", actions=actions))

        await asyncio.gather(*(change(at, number) for number in range(10) for at in (0, 1)))
        found = await service.get_session(**{**S, "session_id": "s1"})
        assert found is not None
        keys = {f"{scope}:{at}-{number}" for scope in ("app", "user") for at in (0, 1) for number in range(10)}
        assert found.state.keys() == keys | {"app:last"}
        assert found == await other.get_session(**{**S, "session_id": "s1"})
        await service.append_event(found, Event(author="guide"))
        with pytest.raises(StaleSessionError):
            await other.append_event(sessions[1], Event(author="guide"))
    assert (await service.ledger.verify()).ok


async def test_a_killed_run_goes_on_in_another_process__GA_1(
    service: LedgerSessionService, url: str, namespace: str, model: Endpoint
) -> None:
    model.answers(says("CALL Paris"), says("Sunny in Paris."))
    command = [sys.executable, "-m", "tests.adapters.google_adk.crashing_process", url, namespace, model.url]
    done = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = await got(service)
    assert kinds(left.events) == ["Weather?", "call weather"]
    (call,) = left.events[-1].get_function_calls()
    response = types.FunctionResponse(id=call.id, name="weather", response={"result": "Paris: sunny"})
    answer = types.Content(role="user", parts=[types.Part(function_response=response)])
    runs = runner(service, model.url)
    async for _ in runs.run_async(user_id=USER, session_id="s", new_message=answer):
        pass
    assert kinds((await got(service)).events) == [
        "Weather?",
        "call weather",
        "result {'result': 'Paris: sunny'}",
        "Sunny in Paris.",
    ]
    assert (await service.ledger.verify(**service.names(**S))).ok
