"""A row of the session index that follows from the row before it is the row of the session's state (style §4)."""

from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import EntryAdded, Event, ExpirySet, RecordedEvent, SessionOpened
from ledger.events.ids import Stream
from ledger.indexes.stored_projections import session_rows
from ledger.indexes.stored_projections.session_rows import next_row, row_of
from ledger.ports.session_index import IndexedSession
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from tests.projections.test_laws import ANY_EVENT
from tests.support.examples import up_to
from tests.support.histories import STEPS, Step, configs, happened, mixed

STREAM = Stream.of("rows", "s", "u")


def _has_a_date(event: Event) -> bool:
    """Tell whether a session expires at a time that there is."""
    return not isinstance(event, ExpirySet) or abs(event.ttl_seconds or 0) < 1_000_000_000


def check(events: list[RecordedEvent], pages: list[int]) -> int:
    """Assert that rows folded page by page are those of the states; return how many needed no state."""
    state: SessionState = SESSION.initial
    row: IndexedSession | None = None
    alone, at = 0, 0
    for size in (*pages, len(events)):
        page = events[at : at + size]
        if not page:
            break
        at += size
        state = SESSION.fold(page, state)
        following = next_row(STREAM, row, page)
        row = row_of(STREAM, state)
        assert following in {None, row}
        alone += following is not None
    return alone


@settings(up_to(400), database=None, suppress_health_check=list(HealthCheck))
@given(events=st.lists(ANY_EVENT.filter(_has_a_date), max_size=12), pages=st.lists(st.integers(1, 4), max_size=12))
def test_a_row_after_any_events_is_that_of_the_state(events: list[Event], pages: list[int]) -> None:
    recorded = [RecordedEvent(n, n, UUID(int=n), 0, n * 7, "", event) for n, event in enumerate(events, start=1)]
    check(recorded, pages)


@settings(up_to(100), database=None, suppress_health_check=list(HealthCheck))
@given(config=configs(), steps=STEPS, pages=st.lists(st.integers(1, 9), max_size=60))
def test_a_row_after_a_page_of_a_session_is_that_of_the_state(
    config: dict[str, object], steps: list[Step], pages: list[int]
) -> None:
    check(happened(config, steps, mixed).events, pages)


def talk(entries: int) -> list[RecordedEvent]:
    message = {"kind": "message", "role": "user", "content": "x", "tokenizer": "t"}
    said = [EntryAdded(write_id=f"w{n}", entry_id=f"e{n}", tokens=n, **message) for n in range(entries)]
    opened = SessionOpened(write_id="w", namespace="rows", user_id="u", session_id="s", config={})
    payloads = [opened, *said]
    return [RecordedEvent(n, n, UUID(int=n), 0, n, "", event) for n, event in enumerate(payloads, start=1)]


def test_a_session_that_only_grows_needs_no_state() -> None:
    assert check(talk(20), [1, 5, 5]) == 4


def test_what_a_row_contains_is_not_counted_again() -> None:
    events = talk(10)
    row = next_row(STREAM, None, events)
    assert next_row(STREAM, row, events[3:]) == row
    assert next_row(STREAM, next_row(STREAM, None, events[:6]), events[3:]) == row


def test_a_gap_needs_the_state_which_names_it() -> None:
    events = talk(10)
    assert next_row(STREAM, next_row(STREAM, None, events[:4]), events[5:]) is None
    assert next_row(STREAM, None, [*events[:4], *events[5:]]) is None


def test_a_config_that_this_release_cannot_read_needs_the_state_which_names_it() -> None:
    (opened, *said) = talk(1)
    unknown = replace(opened.payload, config={"window": {"type": "telepathy"}})
    event = RecordedEvent(1, 1, opened.event_id, 0, 0, "", unknown)
    assert next_row(STREAM, None, [event, *said]) is None


def test_rows_that_skip_an_event_with_a_number_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: were entries events that count nothing, the rows would differ."""
    monkeypatch.setattr(session_rows, "EntryAdded", type(None))
    monkeypatch.setattr(session_rows, "_UNCOUNTED", (EntryAdded,))
    with pytest.raises(AssertionError):
        check(talk(5), [3])
