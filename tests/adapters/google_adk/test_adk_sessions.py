"""What a session service of Google ADK owes its callers, on each store. Source: adapters GA-1, GA-2."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from ledger.adapters.google_adk import LedgerSessionService
from ledger.errors import DatabaseUnavailable, InvalidInput, Unavailable, VersionNotFound
from ledger.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Appended, AppendRequest, EarlierRequest, with_events
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

MARA: Any = {"app_name": "shop", "user_id": "mara"}
S: Any = {**MARA, "session_id": "s"}


def said(text: str, **fields: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(invocation_id="i", author="user", content=content, **fields)


def changing(**state: Any) -> Event:
    return Event(invocation_id="i", author="guide", actions=EventActions(state_delta=state))


async def got(service: BaseSessionService, **more: Any) -> Session:
    found = await service.get_session(**{**S, **more})
    assert found is not None
    return found


def texts(session: Session) -> list[str]:
    return [event.content.parts[0].text for event in session.events if event.content]  # type: ignore[index,misc]


async def test_what_was_appended_comes_back_equal__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"cart": {"a": [1, 2.0, None]}})
    whole = Event(
        invocation_id="i",
        author="guide",
        content=types.Content(
            role="model",
            parts=[
                types.Part(text="x\0y"),
                types.Part.from_bytes(data=b"\x00\xff", mime_type="image/png"),
                types.Part(function_call=types.FunctionCall(id="c", name="f", args={"n": 2**80})),
            ],
        ),
        actions=EventActions(state_delta={"cart": None}, artifact_delta={"a.txt": 1}, escalate=True),
        long_running_tool_ids={"c"},
        usage_metadata=types.GenerateContentResponseUsageMetadata(total_token_count=3),
        custom_metadata={"k": "v"},
        timestamp=1_800_000_000.0,
    )
    for event in (said("Hi"), whole):
        assert await service.append_event(session, event) is event
    found = await got(service)
    assert found == session
    assert found.events == [*session.events]
    assert found.last_update_time == 1_800_000_000.0
    assert found.state == {"cart": None}


async def test_a_nested_value_replaces_the_one_before__LF_10(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"cart": {"a": 1, "b": 2}})
    await service.append_event(session, changing(cart={"c": 3}))
    assert (await got(service)).state == {"cart": {"c": 3}}


async def test_state_of_user_and_app_is_shared_and_temporary_state_is_not_stored__GA_1(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    first = await service.create_session(**S, state={"a": 1, "user:u": 1, "app:p": 1, "temp:t": 1})
    assert first.state == {"a": 1, "user:u": 1, "app:p": 1}
    event = changing(**{"user:u": 2, "app:q": 2, "temp:t": 2, "a": 2})
    await service.append_event(first, event)
    assert first.state == {"a": 2, "user:u": 2, "app:p": 1, "app:q": 2, "temp:t": 2}
    assert "temp:t" not in event.actions.state_delta
    same_user = await service.create_session(**MARA)
    assert same_user.state == {"user:u": 2, "app:p": 1, "app:q": 2}
    other_user = await service.create_session(app_name="shop", user_id="tom")
    assert other_user.state == {"app:p": 1, "app:q": 2}
    other_app = await service.create_session(app_name="bank", user_id="mara")
    assert other_app.state == {}
    assert await service.get_user_state(**MARA) == {"u": 2}
    assert await service.get_user_state(app_name="shop", user_id="nobody") == {}
    stored = [line async for line in opened.export_file()]
    assert b"temp:" not in b"".join(stored)
    assert (await opened.verify()).ok


async def test_an_event_and_all_its_state_are_one_write__LF_6(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    session = await service.create_session(**S)
    before = len(await opened.get_feed())
    await service.append_event(session, changing(**{"a": 1, "user:u": 1, "app:p": 1}))
    feed = (await opened.get_feed())[before:]
    assert len({event.recorded_at for event in feed}) == 1
    assert len({event.session_id for event in feed}) == 3


async def test_a_partial_event_is_returned_unwritten__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    event = said("Hel", partial=True, actions=EventActions(state_delta={"a": 1, "temp:t": 1}))
    assert await service.append_event(session, event) is event
    assert (session.events, session.state) == ([], {})
    assert (await got(service)).events == []


async def test_a_writer_that_has_not_seen_all_is_refused_and_nothing_is_written__GA_1(
    service: LedgerSessionService,
) -> None:
    first = await service.create_session(**S)
    second = await got(service)
    await service.append_event(first, said("one"))
    with pytest.raises(StaleSessionError, match="Get it again"):
        await service.append_event(second, said("two", actions=EventActions(state_delta={"app:p": 1})))
    assert second.events == []
    found = await got(service)
    assert (texts(found), found.state) == (["one"], {})
    await service.append_event(found, said("two"))
    await service.append_event(found, said("three"))
    assert texts(await got(service)) == ["one", "two", "three"]


async def test_equal_times_make_nobody_stale_and_keep_the_order__AD_7(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    for number in range(5):
        await service.append_event(session, said(f"{number}", timestamp=session.last_update_time))
    assert texts(await got(service)) == ["0", "1", "2", "3", "4"]
    await service.append_event(session, said("earlier", timestamp=1.0))
    found = await got(service)
    await service.append_event(found, said("on"))
    assert texts(found)[-2:] == ["earlier", "on"]


async def test_a_session_object_from_elsewhere_is_judged_by_its_events__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    await service.append_event(session, said("one"))
    plain = Session(id="s", app_name="shop", user_id="mara", events=[*session.events])
    await service.append_event(plain, said("two"))
    with pytest.raises(StaleSessionError):
        await service.append_event(Session(id="s", app_name="shop", user_id="mara"), said("three"))
    with pytest.raises(InvalidInput, match="get it again"):
        service.version_of(Session(id="s", app_name="shop", user_id="mara"))
    assert texts(await got(service)) == ["one", "two"]


async def test_a_context_that_was_recorded_makes_nobody_stale__GA_1(
    service: LedgerSessionService, opened: MemoryLedger
) -> None:
    session = await service.create_session(**S)
    await service.append_event(session, said("one"))
    await opened.get_context(**service.names(**S), record=True)
    await service.append_event(session, said("two"))
    await opened.add_user_message("s", "By hand.", user_id=service.names(**S)["user_id"])
    with pytest.raises(StaleSessionError):
        await service.append_event(session, said("three"))
    assert texts(await got(service)) == ["one", "two", "By hand."]


async def test_tasks_that_share_a_session_object_append_in_turn__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    await asyncio.gather(*(service.append_event(session, said(f"{number}")) for number in range(10)))
    found = await got(service)
    assert texts(found) == texts(session)
    assert sorted(texts(found)) == [f"{number}" for number in range(10)]
    assert found == session


async def test_an_event_that_is_delivered_again_is_stored_once__AD_10(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    event = said("one", actions=EventActions(state_delta={"a": 1}))
    await service.append_event(session, event)
    before = await got(service)
    await service.append_event(session, event.model_copy(deep=True))
    assert await got(service) == before
    same_id = said("two", id=event.id)
    await service.append_event(session, same_id)
    assert texts(await got(service)) == ["one", "two"]


class _LosesAnswers(EventStoreDecorator):
    """Appends, and *times* times does not say so, nor whether it did."""

    def __init__(self, store: InMemoryStore) -> None:
        super().__init__(store.events)
        self.times = 0

    async def append(self, request: AppendRequest) -> Appended:
        appended = await super().append(request)
        self._fail()
        return appended

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        self._fail()
        return await super().find_request(stream, request_id)

    def _fail(self) -> None:
        if self.times:
            self.times -= 1
            raise DatabaseUnavailable("the connection broke")


def losing(times: int) -> tuple[LedgerSessionService, _LosesAnswers]:
    store = InMemoryStore()
    events = _LosesAnswers(store)
    events.times = times
    return LedgerSessionService(ledger=ledger_over(with_events(store, events))), events


@pytest.mark.parametrize("times", [1, 2])
async def test_a_write_whose_answer_was_lost_is_not_done_twice__AD_10(times: int) -> None:
    service, events = losing(times)
    session = await service.create_session(**S, state={"user:n": 1})
    events.times = times
    await service.append_event(session, said("one", actions=EventActions(state_delta={"user:n": 2})))
    assert texts(session) == texts(await got(service)) == ["one"]
    assert events.times == 0


async def test_an_append_that_failed_although_it_was_stored_may_be_repeated__AD_10() -> None:
    service, events = losing(0)
    session = await service.create_session(**S)
    events.times = 3
    event = said("one", actions=EventActions(state_delta={"a": 1, "app:p": 1}))
    with pytest.raises(DatabaseUnavailable):
        await service.append_event(session, event)
    assert session.events == []
    await service.append_event(session, event)
    await service.append_event(session, said("two"))
    assert texts(session) == texts(await got(service)) == ["one", "two"]


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


@pytest.mark.parametrize("name", ["a/b", "~x", "é" * 100, "x" * 300, "a|b", "|user", "日本 語"])
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


async def test_state_that_is_no_json_is_stored_as_its_text__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"f": len, "t": (1, 2)})
    assert (session.state["t"], "len" in session.state["f"]) == ([1, 2], True)
    with pytest.raises(InvalidInput, match="state"):
        await service.create_session(**MARA, state={"b": b"\xff"})


async def test_too_much_state_is_refused_whole__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    event = said("one", actions=EventActions(state_delta={f"app:k{number}": 1 for number in range(1_001)}))
    with pytest.raises(InvalidInput, match="1000 keys"):
        await service.append_event(session, event)
    found = await got(service)
    assert (found.events, found.state, session.events) == ([], {}, [])


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


async def test_a_write_that_began_is_finished_although_it_is_cancelled__AD_11(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    writing = asyncio.ensure_future(service.append_event(session, said("one")))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert texts(session) == texts(await got(service)) == ["one"]


def test_a_service_of_its_own_works_on_any_loop_and_raises_when_closed__AD_2(url: str, namespace: str) -> None:
    service = LedgerSessionService(url, namespace=namespace, allow_unsafe=True)
    session = asyncio.run(service.create_session(**S))
    asyncio.run(service.append_event(session, said("one")))
    assert texts(asyncio.run(got(service))) == ["one"]
    asyncio.run(service.close())
    with pytest.raises(Unavailable, match="closed"):
        asyncio.run(service.get_session(**S))


class _InMemory(InMemorySessionService):
    """The SDK's own: what the tests below ask of both."""


@asynccontextmanager
async def both(opened: MemoryLedger) -> AsyncIterator[list[BaseSessionService]]:
    async with LedgerSessionService(ledger=opened) as service:
        yield [service, _InMemory()]


async def test_it_answers_as_the_service_of_the_sdk_in_memory_does__GA_2(opened: MemoryLedger) -> None:
    """A long history with all kinds of state, each step with the same answer."""
    async with both(opened) as services:
        answers = []
        for service in services:
            found: list[Any] = []
            first = await service.create_session(**S, state={"a": 1, "user:u": 1, "app:p": 1, "temp:t": 1})
            second = await service.create_session(**MARA, session_id="s2")
            for number in range(5):
                state = {"a": number, "user:u": number, "app:p": None, "temp:t": number, f"k{number}": [number]}
                session = (first, second)[number % 2]
                event = said(f"{number}", id=f"e{number}", timestamp=1_800_000_000.0 + number)
                event.actions.state_delta = state
                await service.append_event(session, event)
                found.append(await service.get_session(**S))
                found.append(await service.list_sessions(**MARA))
                found.append(await service.get_user_state(**MARA))
            await service.delete_session(**S)
            found += [await service.get_session(**S), await service.list_sessions(app_name="shop")]
            answers.append([each.model_dump() if hasattr(each, "model_dump") else each for each in found])
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
