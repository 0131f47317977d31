"""What a write to a session is asked to do, and what it returns."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeAlias, TypedDict, TypeVar
from uuid import UUID

import msgspec

from ledger.events import RecordedEvent
from ledger.events.ids import Stream
from ledger.ports import Receipt
from ledger.session.commands import Command
from ledger.session.state import SessionState

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Decision(msgspec.Struct, Generic[T_co], frozen=True):
    """Commands for a session in one state, and a *note* about that state for the caller.

    With *exact* they are appended only at that state's version, although they commute. With *items_after* they are
    refused if the session has an event about one of their items after that version; then the next attempt decides.
    """

    commands: Sequence[Command]
    note: T_co
    exact: bool = False
    items_after: int | None = None


#: Returns the commands for a state; called again with a newer state if another writer was first, or with the same
#: one when content that it needs was loaded.
CommandsFor: TypeAlias = Callable[[SessionState], Awaitable[Sequence[Command]]]
DecisionFor: TypeAlias = Callable[[SessionState], Awaitable[Decision[T]]]


class SessionPart(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What one session gets in a write to several; with *expected_version* only at that version."""

    stream: Stream
    decision_for: DecisionFor[T]
    expected_version: int | None = None


class Written(msgspec.Struct, frozen=True):
    """The result of a write: the state after it, its events and their receipts; or, *replayed*, the first answer.

    The state may lack content; to read its entries, use `States.reading`. Of commands that commute it may be the one
    that they were decided on; `States.known` has the one after them.
    """

    state: SessionState
    events: tuple[RecordedEvent, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    replayed: bool = False

    @property
    def version(self) -> int:
        """The version after the write's own events; the state's version if it wrote none."""
        return self.receipts[-1].version if self.receipts else self.state.version


class Idempotency(msgspec.Struct, frozen=True):
    """An idempotency key as the store needs it."""

    request_id: UUID
    request_hash: bytes


class WriteOptions(TypedDict, total=False):
    """The options of `CommandHandler.write_with_note`."""

    commutes: bool
    expected_version: int | None
    idempotency: Idempotency | None
    state: SessionState | None
