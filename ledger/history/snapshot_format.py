"""How the states of a projection are stored."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from ledger.events import Ranges, RecordedEvent
from projections.entry_page import EntryPage
from projections.projection import Projection


class Versioned(Protocol):
    """A state that knows the version of its newest event."""

    @property
    def version(self) -> int:
        """The version; 0 without events."""
        ...


S = TypeVar("S", bound=Versioned)


class SnapshotFormat(msgspec.Struct, Generic[S], frozen=True):
    """How the states of a projection are stored in snapshots.

    ``load(dump(state))`` returns the versions of the events that the stored state needs, and a function from these
    events to the state; it raises `msgspec.MsgspecError` if the bytes have another shape, and all events are then
    folded again. ``pages(state)`` are those whose content may be absent; ``whole(state)`` is the state with pages of
    its own, and reads them all. ``may_wait(state, events)`` tells whether the next write of commands that commute is
    decided in the same way before and after *events*. ``size_b(state)`` estimates the bytes of memory that it takes,
    without the content of its pages. With a snapshot come the events of the *before* newest versions that it covers,
    from which its newest pages are filled.
    """

    projection: Projection[S]
    dump: Callable[[S], bytes]
    load: Callable[[bytes], tuple[Ranges, Callable[[Iterable[RecordedEvent]], S]]]
    pages: Callable[[S], Sequence[EntryPage]] = lambda _: ()
    whole: Callable[[S], S] = lambda state: state
    may_wait: Callable[[S, Sequence[RecordedEvent]], bool] = lambda _, events: not events
    size_b: Callable[[S], int] = lambda _: 4_000
    before: int = 0


def json_format(projection: Projection[S]) -> SnapshotFormat[S]:
    """Return the format of states that JSON holds whole: they name items by version only, so no event is read."""
    decode = msgspec.json.Decoder(type(projection.initial)).decode

    def load(stored: bytes) -> tuple[Ranges, Callable[[Iterable[RecordedEvent]], S]]:
        state = decode(stored)
        return (), lambda _: state

    return SnapshotFormat(projection, dump=msgspec.json.Encoder().encode, load=load)
