"""The newest states of a process: how many there may be, how large, and which of two readings of one session counts."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from ledger.events import RecordedEvent
from ledger.events.ids import Stream
from ledger.history.snapshot_format import Versioned

STATES_B: Final = 64_000_000  # bytes of states, without the content of their pages
_MEASURED_EVENTS: Final = 16  # from one estimate of the size of a state to the next

S = TypeVar("S", bound=Versioned)


class CachedState(msgspec.Struct, Generic[S]):
    """A state, and newer events in a row that no reader has needed yet."""

    state: S
    snapshot_version: int
    queued: list[RecordedEvent] = []
    #: The hash of the newest event, by which a read notices that the log went back; None if it is not known.
    digest: bytes | None = None
    #: The size of the state without the content of its pages, estimated at the version *measured*.
    size_b: int = 0
    measured: int = 0

    @property
    def version(self) -> int:
        """The newest version that is known, also of events that no reader needed."""
        return self.queued[-1].version if self.queued else self.state.version


class StateCache(Generic[S]):
    """The *capacity* states used last, fewer if they have more than *states_b* bytes by *size_of*."""

    def __init__(self, size_of: Callable[[S], int], *, capacity: int, states_b: int) -> None:
        self._size_of = size_of
        self._capacity = capacity
        self._states_b = states_b
        self._size_b = 0
        # by the id's number, which hashes at once
        self._cached: OrderedDict[int, CachedState[S]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._cached)

    def get(self, stream: Stream) -> CachedState[S] | None:
        """Return what is cached of *stream*."""
        return self._cached.get(stream.stream_id.int)

    def used(self, stream: Stream) -> None:
        """Make the state of *stream*, which is cached, the last that is dropped."""
        self._cached.move_to_end(stream.stream_id.int)

    def drop(self, stream: Stream) -> None:
        """Forget what is cached of *stream*."""
        dropped = self._cached.pop(stream.stream_id.int, None)
        self._size_b -= dropped.size_b if dropped is not None else 0

    def clear(self) -> None:
        """Forget everything."""
        self._cached.clear()
        self._size_b = 0

    def keep(self, stream: Stream, state: S, snapshot_version: int, digest: bytes | None) -> S:
        """Cache *state*, whose newest event has the hash *digest*, unless a newer one came; return the newest."""
        cached = self.get(stream)
        queued: list[RecordedEvent] = []
        if cached is not None:
            if cached.version > state.version or digest is None:
                digest = cached.digest if cached.version >= state.version else None
            state = max(state, cached.state, key=lambda each: each.version)
            snapshot_version = max(snapshot_version, cached.snapshot_version)
            queued = [event for event in cached.queued if event.version > state.version]
        size_b, measured = (cached.size_b, cached.measured) if cached is not None else (0, 0)
        self._size_b -= size_b
        if not size_b or state.version >= measured + _MEASURED_EVENTS:
            size_b, measured = self._size_of(state), state.version
        self._size_b += size_b
        self._cached[stream.stream_id.int] = CachedState(state, snapshot_version, queued, digest, size_b, measured)
        self.used(stream)
        while len(self._cached) > self._capacity or (self._size_b > self._states_b and len(self._cached) > 1):
            self._size_b -= self._cached.popitem(last=False)[1].size_b
        return state
