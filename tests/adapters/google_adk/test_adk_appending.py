"""Append events and state to sessions of Google ADK, on each store. Source: adapters GA-1, GA-2."""

import asyncio
from uuid import UUID

import pytest

from tests.adapters.google_adk import NOT_INSTALLED

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

from google.adk.errors import StaleSessionError
from google.adk.events import Event, EventActions
from google.adk.sessions import Session
from google.genai import types

from ledger.adapters.google_adk import LedgerSessionService
from ledger.errors import DatabaseUnavailable, InvalidInput
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Appended, AppendRequest, EarlierRequest, with_events
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from tests.adapters.google_adk.events import MARA, S, changing, got, said, texts
from tests.support.ledgers import ledger_over


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


INFINITY = float("inf")


@pytest.mark.parametrize("value", [INFINITY, [1, {"a": -INFINITY}], b"x", {1}, (1, 2), {1: 2}, 1.0, None], ids=repr)
async def test_an_event_changes_the_state_to_what_a_new_session_would_have__GA_1(
    service: LedgerSessionService, value: object
) -> None:
    state = {"a": value, "user:b": value, "app:c": value}
    begun = await service.create_session(**{**S, "user_id": "eve"}, state=state)
    wanted = await got(service, user_id="eve")
    await service.append_event(await service.create_session(**S), changing(**state))
    assert (await got(service)).state == wanted.state == begun.state


async def test_an_event_whose_state_is_no_text_is_refused(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"a": 1})
    with pytest.raises(InvalidInput, match="surrogates") as caught:
        await service.append_event(session, changing(**{"\ud800": 1}))
    assert caught.value.field == "state"
    assert session.events == []
    assert await got(service) == session


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
    await service.append_event(session, said("two", id=event.id))
    by_hand = said("three")
    session.events.append(by_hand)
    await service.append_event(session, by_hand)
    assert texts(await got(service)) == ["one", "two", "three"]


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


async def test_state_that_is_no_json_is_stored_as_its_text__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"f": len, "t": (1, 2)})
    assert (session.state["t"], "len" in session.state["f"]) == ([1, 2], True)
    with pytest.raises(InvalidInput, match="state"):
        await service.create_session(**MARA, state={"b": b"\xff"})


async def test_an_event_that_is_no_json_is_refused_whole__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S, state={"a": 1})
    ring: list[object] = []
    ring.append(ring)
    for field, event in (
        ("event", said("one", custom_metadata={"when": object()})),
        ("state", changing(a={"\ud800": 1})),
        ("state", changing(a=ring)),
    ):
        with pytest.raises(InvalidInput, match="must be JSON") as caught:
            await service.append_event(session, event)
        assert caught.value.field == field
    assert session.events == []
    assert await got(service) == session


async def test_too_much_state_is_refused_whole__GA_1(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    event = said("one", actions=EventActions(state_delta={f"app:k{number}": 1 for number in range(1_001)}))
    with pytest.raises(InvalidInput, match="1000 keys"):
        await service.append_event(session, event)
    found = await got(service)
    assert (found.events, found.state, session.events) == ([], {}, [])


async def test_a_write_that_began_is_finished_although_it_is_cancelled__AD_11(service: LedgerSessionService) -> None:
    session = await service.create_session(**S)
    writing = asyncio.ensure_future(service.append_event(session, said("one")))
    await asyncio.sleep(0)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert texts(session) == texts(await got(service)) == ["one"]
