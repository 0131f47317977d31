"""Begin, read, list, fork and end sessions of Google ADK, on each store. Source: adapters GA-1, GA-2."""

import asyncio
import copy
from typing import Any

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import EventActions
from google.adk.sessions import InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig

from ledger.adapters.google_adk import LedgerSessionService
from ledger.errors import InvalidInput, Unavailable, VersionNotFound
from ledger.memory import MemoryLedger
from tests.adapters.google_adk.events import MARA, S, got, said, texts


async def test_limits_choose_the_newest_events__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    for number in range(1, 301):
        await service.append_event(session, said(f"{number}", timestamp=float(number)))
    expected: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [*range(1, 301)]),
        ({"num_recent_events": 0}, []),
        ({"num_recent_events": 2}, [299, 300]),
        ({"num_recent_events": 1_000}, [*range(1, 301)]),
        ({"after_timestamp": 299.0}, [299, 300]),
        ({"after_timestamp": 7.5}, [*range(8, 301)]),
        ({"after_timestamp": 301.0}, []),
        ({"after_timestamp": 0.0}, [*range(1, 301)]),
        ({"num_recent_events": 3, "after_timestamp": 299.0}, [299, 300]),
        ({"num_recent_events": 1, "after_timestamp": 299.0}, [300]),
    ]
    for given, numbers in expected:
        found = await got(service, config=GetSessionConfig(**given))
        assert texts(found) == [str(number) for number in numbers], given
        assert found.last_update_time == 300.0
    limited = await got(service, config=GetSessionConfig(num_recent_events=0))
    await service.append_event(limited, said("301"))
    assert texts(limited) == ["301"]


async def test_sessions_are_listed_with_their_state_and_the_newest_at_the_end__GA_1(
    service: LedgerSessionService,
) -> None:
    assert (await service.list_sessions(app_name="shop")).sessions == []
    for user, name, time in (("mara", "b", 30.0), ("mara", "a", 10.0), ("tom|x", "c", 20.0)):
        session = await service.create_session(
            app_name="shop", user_id=user, session_id=name, state={"n": name, "user:u": user, "app:p": 1}
        )
        await service.append_event(session, said("hello", timestamp=time))
    await service.create_session(app_name="shop|tom", user_id="x", session_id="d")
    listed = (await service.list_sessions(app_name="shop")).sessions
    assert [(each.user_id, each.id, each.events) for each in listed] == [
        ("mara", "a", []),
        ("tom|x", "c", []),
        ("mara", "b", []),
    ]
    assert listed[1].state == {"n": "c", "user:u": "tom|x", "app:p": 1}
    assert [each.last_update_time for each in listed] == [10.0, 20.0, 30.0]
    mara = (await service.list_sessions(app_name="shop", user_id="mara")).sessions
    assert [each.id for each in mara] == ["a", "b"]
    assert (await service.list_sessions(app_name="shop", user_id="")).sessions == []
    await service.append_event(mara[0], said("again"))


NAMES = ["a/b", "~x", "é" * 100, "x" * 300, "a|b", "|user", "日本 語", "x\0y", "\ud800" * 40]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
async def test_names_of_any_text_come_back__AD_3(service: LedgerSessionService, name: str) -> None:
    place: Any = {"app_name": name, "user_id": name, "session_id": name}
    session = await service.create_session(**place, state={"user:u": 1, "app:p": 2})
    await service.append_event(session, said("hello"))
    assert await service.get_session(**place) == session
    (listed,) = (await service.list_sessions(app_name=name)).sessions
    assert (listed.id, listed.user_id, listed.app_name, listed.state) == (name, name, name, session.state)
    await service.delete_session(**place)
    assert await service.get_session(**place) is None


async def test_an_id_is_taken_without_blanks_and_made_up_if_there_is_none__GA_2(service: LedgerSessionService) -> None:
    padded = await service.create_session(**MARA, session_id="  s ")
    assert padded.id == "s"
    assert await got(service, session_id=" s  ") == padded
    with pytest.raises(AlreadyExistsError):
        await service.create_session(**S)
    made_up = [(await service.create_session(**MARA, session_id=given)).id for given in (None, "", "  ")]
    assert len({*made_up, ""}) == 4
    await service.delete_session(**MARA, session_id=" s ")
    assert await service.get_session(**S) is None


async def test_of_callers_that_begin_one_session_one_does__GA_1(service: LedgerSessionService) -> None:
    begun = await asyncio.gather(
        *(service.create_session(**S, state={"n": n}) for n in range(8)), return_exceptions=True
    )
    assert sum(isinstance(each, AlreadyExistsError) for each in begun) == 7
    (first,) = [each for each in begun if isinstance(each, Session)]
    assert await got(service) == first


async def test_a_deleted_session_is_gone_and_its_history_stays__AD_9(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    session = await service.create_session(**S, state={"a": 1, "user:u": 1})
    event = said("one")
    await service.append_event(session, event)
    await service.delete_session(**S)
    await service.delete_session(**{**S, "session_id": "unknown"})
    assert await service.get_session(**S) is None
    assert (await service.list_sessions(app_name="shop")).sessions == []
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, said("two"))
    again = await service.create_session(**S)
    assert (again.state, again.events) == ({"user:u": 1}, [])
    await service.append_event(again, event)
    assert texts(await got(service)) == ["one"], "the same event, in a new life"
    history = await opened.get_history(**service.names(**S))
    assert [entry.content for entry in history.entries] == ["one", "one"]


async def test_a_service_may_refuse_to_delete__AD_9(opened: MemoryLedger) -> None:
    service = LedgerSessionService(ledger=opened, on_delete="refuse")
    session = await service.create_session(**S)
    with pytest.raises(InvalidInput, match="must stay"):
        await service.delete_session(**S)
    assert await got(service) == session
    with pytest.raises(InvalidInput, match="end or refuse"):
        LedgerSessionService(ledger=opened, on_delete="erase")  # type: ignore[arg-type]  # what is refused


async def test_an_unknown_session_is_none_and_takes_no_event__AD_14(service: LedgerSessionService) -> None:
    assert await service.get_session(**S) is None
    with pytest.raises(SessionNotFoundError):
        await service.append_event(Session(id="s", app_name="shop", user_id="mara"), said("one"))


async def test_the_past_is_read_with_the_state_of_its_time__AD_13(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"a": 1, "app:p": 1})
    await service.append_event(session, said("one", actions=EventActions(state_delta={"user:u": 1})))
    version = service.version_of(session)
    await service.append_event(session, said("two", actions=EventActions(state_delta={"user:u": 2, "a": 2})))
    past = await service.get_session_at(**S, version=version)
    assert past is not None
    assert (texts(past), past.state) == (["one"], {"a": 1, "app:p": 1, "user:u": 1})
    with pytest.raises(StaleSessionError):
        await service.append_event(past, said("three"))
    with pytest.raises(VersionNotFound):
        await service.get_session_at(**S, version=99)
    with pytest.raises(InvalidInput, match="version or a moment"):
        await service.get_session_at(**S)
    now = await service.get_session_at(**S, at="2100-01-01T00:00:00Z")
    assert now == session
    with pytest.raises(VersionNotFound):
        await service.get_session_at(**S, at="2000-01-01T00:00:00Z")
    for when in ({"version": 1}, {"at": "2100-01-01T00:00:00Z"}):
        assert await service.get_session_at(**{**S, "session_id": "unknown"}, **when) is None
    alone = {"app_name": "bank", "user_id": "tom", "session_id": "s"}
    await service.create_session(**alone)
    assert await service.get_session_at(**alone, version=2) == await service.get_session(**alone)


async def test_a_fork_goes_its_own_way_and_both_are_proved__AD_13(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    session = await service.create_session(**S, state={"a": 1, "app:p": 1})
    await service.append_event(session, said("one"))
    version = service.version_of(session)
    await service.append_event(session, said("two"))
    fork = await service.fork_session(**S, new_session_id="f" * 300, version=version)
    assert (fork.id, texts(fork), fork.state) == ("f" * 300, ["one"], {"a": 1, "app:p": 1})
    await service.append_event(fork, said("other", actions=EventActions(state_delta={"a": 2})))
    assert (texts(await got(service)), (await got(service)).state["a"]) == (["one", "two"], 1)
    assert sorted(each.id for each in (await service.list_sessions(**MARA)).sessions) == ["f" * 300, "s"]
    with pytest.raises(AlreadyExistsError):
        await service.fork_session(**S, new_session_id="f" * 300)
    with pytest.raises(SessionNotFoundError):
        await service.fork_session(**MARA, session_id="unknown", new_session_id="n")
    assert (await opened.verify()).ok


async def test_events_read_back_edited_and_without_those_removed__AD_5(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    session = await service.create_session(**S)
    for text in ("The code is 4417.", "Forget this.", "Thanks."):
        await service.append_event(session, said(text))
    names = service.names(**S)
    entries = await opened.get_transcript(**names)
    await opened.edit_entry(entry_id=entries[0].entry_id, content="The code is ****.", **names)
    await opened.remove_entry(entry_id=entries[1].entry_id, **names)
    assert texts(await got(service)) == ["The code is ****.", "Thanks."]


async def test_a_returned_session_is_a_copy__GA_2(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"a": {"b": 1}})
    found = await got(service)
    found.state["a"]["b"] = 2
    found.events.append(said("not appended"))
    assert await got(service) == session
    assert copy.deepcopy(session) == session


def test_a_service_of_its_own_works_on_any_loop_and_raises_when_closed__AD_2(url: str, namespace: str) -> None:
    service = LedgerSessionService(url, namespace=namespace, allow_unsafe=True)
    session = asyncio.run(service.create_session(**S))
    asyncio.run(service.append_event(session, said("one")))
    assert texts(asyncio.run(got(service))) == ["one"]
    asyncio.run(service.close())
    with pytest.raises(Unavailable, match="closed"):
        asyncio.run(service.get_session(**S))


async def test_it_answers_as_the_service_of_the_sdk_in_memory_does__GA_2(service: LedgerSessionService) -> None:
    """A long history with all kinds of state, each step with the same answer."""
    answers = []
    for each in (service, InMemorySessionService()):
        found: list[Any] = []
        first = await each.create_session(**S, state={"a": 1, "user:u": 1, "app:p": 1, "temp:t": 1})
        second = await each.create_session(**MARA, session_id="s2")
        for number in range(5):
            event = said(f"{number}", id=f"e{number}", timestamp=1_800_000_000.0 + number)
            event.actions.state_delta = {"a": number, "user:u": number, "app:p": None, "temp:t": 1, "k": [number]}
            await each.append_event((first, second)[number % 2], event)
            found.append(await each.get_session(**S))
            found.append(await each.list_sessions(**MARA))
            found.append(await each.get_user_state(**MARA))
        await each.delete_session(**S)
        found += [await each.get_session(**S), await each.list_sessions(app_name="shop")]
        answers.append([answer.model_dump() if hasattr(answer, "model_dump") else answer for answer in found])
    ours, theirs = answers
    for mine, its in zip(ours, theirs, strict=True):
        assert _without_creation(mine) == _without_creation(its)


def _without_creation(answer: Any) -> Any:
    """Return an answer without the times of creation, which differ."""
    sessions = answer["sessions"] if isinstance(answer, dict) and "sessions" in answer else [answer]
    for each in sessions:
        if isinstance(each, dict) and each.get("last_update_time", 2e9) < 1_800_000_000:
            each["last_update_time"] = 0
    return answer
