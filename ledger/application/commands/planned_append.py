"""What commands come to in one state: their events, and what the store must check before it takes them."""

from collections.abc import Sequence
from typing import TypeVar

from ledger.application.commands.write_requests import Decision
from ledger.events import Event, RecordedEvent, SessionOpened, SessionRestored, to_microseconds
from ledger.ports import Receipt, StreamWrite
from ledger.session.decide import decide
from ledger.session.state import SessionState
from projections.working_memory import NOT_FROM_CLIENTS

T = TypeVar("T")


def decided_events(state: SessionState, decision: Decision[T]) -> list[Event]:
    """Return the events that the commands of *decision* cause in *state*.

    Raises:
        LedgerError: a command is refused.
    """
    events: list[Event] = []
    for command in decision.commands:
        events += decide(state, command)
    return events


def opens_life(events: Sequence[Event]) -> bool:
    """Tell whether *events* start or resume the life of a session."""
    return not {SessionOpened, SessionRestored}.isdisjoint(map(type, events))


def live_until(state: SessionState, events: Sequence[Event]) -> int | None:
    """Return when *events*, decided while the session was live, must be stored; None if they do not renew it."""
    expires_at = None if state.working.ttl_seconds is None else state.working.expires_at
    if expires_at is None or all(isinstance(event, NOT_FROM_CLIENTS) for event in events):
        return None
    return to_microseconds(expires_at)


def recorded_events(
    write: StreamWrite, events: Sequence[Event], receipts: Sequence[Receipt]
) -> tuple[RecordedEvent, ...]:
    """Return *events*, encoded as *write*, as they were stored with *receipts*."""
    return tuple(
        [
            RecordedEvent(
                receipt.version,
                receipt.position,
                receipt.event_id,
                new.occurred_us,
                receipt.recorded_us,
                new.actor,
                event,
            )
            for event, new, receipt in zip(events, write.events, receipts, strict=True)
        ]
    )
