"""The law of forks: from any version, a fork goes on as its parent would have, had nothing been under way there."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ledger.events import ConfigChanged, EntryAdded, ForkedFrom, RecordedEvent, SessionOpened
from ledger.session import evolve as session_fold
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from ledger.session.views import window_of
from projections.log.history import HISTORY
from projections.log.lineage import LINEAGE
from projections.memory_config import config as memory_config
from projections.rendering import context_text
from tests.support.driver import Driven, Scripted
from tests.support.examples import up_to
from tests.support.histories import STEPS, Step, configs, happened, hints, mixed, take


def continued(prefix: list[RecordedEvent], payload: Any, *, alone: bool) -> Driven:
    """Return a session that goes on from *prefix* with *payload*; *alone*, without what was under way."""
    session = Driven({"profile": "none"}, Scripted(mixed))
    added = [event.version for event in prefix if isinstance(event.payload, EntryAdded)]
    session.events, session.state, session.added = list(prefix), SESSION.fold(prefix), added
    session.ids = map("further-{}".format, count(1))
    session.clock.ids = 1_000_000  # a summary of the parent keeps its id, which no later one may get
    session.record([payload])
    if alone:
        compactions = replace(session.state.compactions, in_flight=())
        session.state = replace(session.state, compactions=compactions)
    return session


def go_on(session: Driven, steps: list[Step]) -> None:
    for step in steps:
        take(session, step)
        if step.kind == "add":
            session.settle()


def held(session: Driven) -> tuple[Any, ...]:
    """Return what a session is, less what tells a fork from its parent: when it began, and its first event."""
    state = replace(end_of_batch(session.state), created_us=0, opened=True, life=0)
    shown = context_text(window_of(state, hints(session)))
    return state, HISTORY.fold(session.events), LINEAGE.fold(session.events), shown


def check_fork(config: dict[str, Any], before: list[Step], place: float, after: list[Step]) -> None:
    parent = happened(config, before, mixed)
    version = max(1, round(place * len(parent.events)))
    prefix, message = parent.events[:version], held(parent)
    now = memory_config.dump(SESSION.fold(prefix).config)
    opening = SessionOpened(
        write_id="w",
        namespace="space",
        user_id="",
        session_id="fork",
        config=now,
        forked_from=ForkedFrom(session_id="session", version=version),
    )
    fork = continued(prefix, opening, alone=False)
    stored = SESSION.fold(prefix).working
    neutral = ConfigChanged(write_id="w", config=now, extraction=stored.extraction, tokens=stored.tokens)
    copy = continued(prefix, neutral, alone=True)
    assert fork.state.opened
    assert fork.state.compactions.in_flight == ()
    assert held(fork) == held(copy)
    go_on(fork, after)
    go_on(copy, after)
    beyond = slice(version + 1, None)
    assert [event.payload for event in fork.events[beyond]] == [event.payload for event in copy.events[beyond]]
    assert held(fork) == held(copy)
    assert held(parent) == message
    assert SESSION.fold(parent.events) == parent.state


@up_to(25)
@given(config=configs(), before=STEPS, place=st.floats(0, 1), after=STEPS)
def test_a_fork_at_any_version_goes_on_as_a_copy_would(
    config: dict[str, Any], before: list[Step], place: float, after: list[Step]
) -> None:
    check_fork(config, before, place, after)


BUSY = [Step("add", f"[u{90 + number} a90]") for number in range(8)]
BLOCKS = {"window": {"type": "rolling", "size": 2}, "compactions": [{"type": "rolling_blocks", "size": 2}]}


@pytest.mark.parametrize("place", [0.3, 0.6, 1])
def test_the_law_rejects_a_fork_that_begins_anew(monkeypatch: pytest.MonkeyPatch, place: float) -> None:
    """Negative control."""
    check_fork(BLOCKS, BUSY, place, BUSY)

    def anew(state: SessionState, event: RecordedEvent, payload: SessionOpened) -> SessionState:
        config = memory_config.load(payload.config)
        return SessionState(event.version, payload.write_id, opened=True, config=config)

    monkeypatch.setattr(session_fold, "_forked", anew)
    with pytest.raises(AssertionError):
        check_fork(BLOCKS, BUSY, place, BUSY)


def test_the_law_rejects_a_fork_that_forgets_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    sound = session_fold._forked
    monkeypatch.setattr(session_fold, "_forked", lambda *given: replace(sound(*given), progress=()))
    with pytest.raises(AssertionError):
        check_fork(BLOCKS, BUSY, 1, BUSY)
