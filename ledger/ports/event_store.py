"""The event store: append to streams and read them back. It is the one place where facts are stored."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import msgspec

from ledger.events import Ranges, StoredEvent
from ledger.events.ids import Stream
from ledger.ports.append_request import Appender, EarlierRequest

ANY_SIZE: Final = 2**62


class NamespaceInfo(msgspec.Struct, frozen=True):
    """A namespace's name, the id of its ledger, and its last position."""

    namespace: str
    ledger_id: UUID
    last_position: int


class StreamHead(msgspec.Struct, frozen=True):
    """What the store knows of a stream besides its events."""

    stream_id: UUID
    user_id: str
    session_id: str
    version: int
    head_hash: bytes
    #: The stream it was forked from, and at which version.
    parent_id: UUID | None = None
    parent_version: int | None = None


class SessionLocation(msgspec.Struct, frozen=True):
    """The namespace and the user of a session."""

    namespace_id: UUID
    user_id: str


class LogBounds(msgspec.Struct, frozen=True):
    """The highest position by the counter, the number of events, and the lowest position; 0 without events."""

    last_position: int
    events: int
    first_position: int


class SchemaDifference(msgspec.Struct, frozen=True):
    """An object of the schema that is missing, added or changed; *guards_log* if the log relies on it."""

    problem: str
    guards_log: bool


def in_order_of_keys(events: Iterable[StoredEvent], *, greatest_first: bool, every: bool) -> list[StoredEvent]:
    """Return *events* in the order of `EventStore.read_kept`: of each item the newest one, or *every* one."""
    ordered = sorted(events, key=lambda event: event.version)
    chosen = ordered if every else list({event.item_id: event for event in ordered}.values())
    return sorted(chosen, key=lambda event: event.item_id or "", reverse=greatest_first)


# Each store writes these signatures again, beside what it does with the arguments, and mypy compares them with these. A
# request type for each method would move the arguments away from both. Decorators take the signatures from here.
class EventStore(Appender, Protocol):
    """All streams of all namespaces.

    Versions of a stream start at 1; *after* excludes its bound, *until* includes it. A read of a fork includes the
    events of its parents up to where each was forked; these events have the parent's stream id. The positions of a
    namespace follow the order of commits, without gaps (trust R-2).
    """

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        """Return the request with this id if it wrote to *stream*; None if it did not or was pruned (trust R-6)."""
        ...

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        """Delete idempotency keys older than *days*, at least 1 (trust R-6), and return how many."""
        ...

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        """Return events, oldest first; an empty list if the stream does not exist."""
        ...

    async def read_page(self, stream: Stream, after: int, until: int, limit: int, most_bytes: int) -> list[StoredEvent]:
        """As `read_stream`, but the page ends with the event whose payload brings it to *most_bytes*."""
        ...

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        """Return the events at the versions in *wanted*, oldest first."""
        ...

    async def read_newest(
        self, stream: Stream, *, limit: int, until: int | None = None, without: Sequence[str] = ()
    ) -> tuple[int, list[StoredEvent]]:
        """Return the newest version, 0 if there is none, and the newest *limit* events, at least 1, oldest first.

        Events of the types *without* are passed over; it looks at each of them that is newer than the oldest returned.
        """
        ...

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        """Return, for each item id that exists, the versions of the events about it, ascending."""
        ...

    async def find_types(
        self,
        stream: Stream,
        types: Sequence[str],
        *,
        after: int = 0,
        until: int | None = None,
        limit: int | None = None,
    ) -> list[int]:
        """Return the versions of the first *limit* events of these *types*, ascending.

        Events without an item are found by an index. Those about an item are found by a look at each event from
        *after* to *until*, or up to *limit*.
        """
        ...

    async def find_versions(
        self, stream: Stream, *, after: int, until: int, types: Sequence[str] | None = None, actor: str | None = None
    ) -> list[int]:
        """Return the versions of the events of these *types* and this *actor*, ascending; it looks at each event."""
        ...

    async def find_newest(self, stream: Stream, type: str, *, until: int | None = None) -> int:
        """Return the version of the newest event of a *type* without an item, 0 if there is none; by an index."""
        ...

    async def read_kept(
        self,
        stream: Stream,
        *,
        first: str,
        end: str,
        after: int = 0,
        until: int | None = None,
        greatest_first: bool = False,
        limit: int | None = None,
        every: bool = False,
    ) -> list[StoredEvent]:
        """Return the newest event about each kept value with an item id from *first* on and before *end*.

        In the order of item ids by code point, from the greatest if *greatest_first*; at most *limit*; by an index.
        With *every*, all events about them, those about one item oldest first.
        """
        ...

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        """Return version and hash of the newest event; 0 and 32 zero bytes if there are no events."""
        ...

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        """Return the head of *stream* and of a fork's parents, nearest first; empty if it does not exist."""
        ...

    async def family(self, stream: Stream, *, limit: int) -> list[StreamHead]:
        """Return the heads of *stream*, of its forks and of theirs, parents first; empty if it does not exist."""
        ...

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        """Return the newest version recorded at or before *moment*, 0 if there is none.

        If the server clock went backwards, an event counts as recorded no later than the events after it.
        """
        ...

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        """Return (user_id, session_id) of each stream that exists."""
        ...

    async def first_events(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> list[StoredEvent]:
        """Return the first event of each stream; of a fork, the first that is its own."""
        ...

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[SessionLocation]:
        """Return the sessions with this id in these namespaces, also those that have ended or expired."""
        ...

    async def read_namespace(
        self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000, most_bytes: int = ANY_SIZE
    ) -> list[StoredEvent]:
        """Return up to *limit* events after position *after*, in position order.

        The page ends with the event whose payload brings it to *most_bytes*, so it has an event if there is one.
        """
        ...

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        """Return a namespace; None if nothing was ever appended to it."""
        ...

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        """Return the namespaces that exist, by id."""
        ...

    async def namespace_ids(self) -> list[UUID]:
        """Return the ids of all namespaces; their content stays protected by row security (trust D-7)."""
        ...

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        """Return a namespace and the heads of all its streams, in stream id order, as of one moment."""
        ...

    async def bounds(self, namespace_id: UUID) -> LogBounds:
        """Return the counter of a namespace and what it counts, as of one moment."""
        ...

    async def schema_differences(self) -> list[SchemaDifference]:
        """Return how the database's schema differs from that of this release; nothing if there is no schema."""
        ...
