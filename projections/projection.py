"""A projection is a named, versioned fold.

Raise its version when its meaning changes: stored states of the old version are then ignored and built again
(design §6).
"""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from ledger.events import RecordedEvent

S = TypeVar("S")


class Projection(msgspec.Struct, Generic[S], frozen=True):
    """``initial`` and ``evolve(state, event) -> state``; both pure, no clock, no I/O, no model."""

    name: str
    version: int
    initial: S
    evolve: Callable[[S, RecordedEvent], S]

    def fold(self, events: Iterable[RecordedEvent], state: S | None = None) -> S:
        """Return *state*, or the initial one, after all *events* of one stream, oldest first."""
        folded = self.initial if state is None else state
        for event in events:
            folded = self.evolve(folded, event)
        return folded
