"""A projection is a named, versioned fold.

Raise its version when its meaning changes: stored states of the old version are then ignored and built again
(style §4).
"""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from ledger.errors import LedgerError, LogCorrupted
from ledger.events import RecordedEvent
from projections.entry_page import PagesMissing

S = TypeVar("S")


class Projection(msgspec.Struct, Generic[S], frozen=True):
    """``initial`` and ``evolve(state, event) -> state``; both pure, no clock, no I/O, no model."""

    name: str
    version: int
    initial: S
    evolve: Callable[[S, RecordedEvent], S]

    def fold(self, events: Iterable[RecordedEvent], state: S | None = None) -> S:
        """Return *state*, or the initial one, after all *events* of one stream, oldest first.

        Raises:
            LogCorrupted: an event cannot be folded; it is named, so that one bad event is no riddle in a long log.
            UnknownEvent, UnknownConfig: a newer release wrote it.
        """
        folded = self.initial if state is None else state
        for event in events:
            try:
                folded = self.evolve(folded, event)
            except (LedgerError, PagesMissing):
                raise
            except Exception as fault:
                raise LogCorrupted(
                    f"event {event.version} ({event.type}) cannot be folded into {self.name}: {fault!r}; "
                    "run `memory-ledger verify`, and report it if that finds nothing"
                ) from fault
        return folded
