"""The event store: append to streams and read them back. It is the one place where facts are stored."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import msgspec

from ledger.events import NewEvent, Ranges, StoredEvent
from ledger.ids import Stream

#: So many events fit into one request, for a PUT may replace 10,000 messages (http W-3); the database has the same
#: limit.
MAX_EVENTS: Final = 32_000


class StreamWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Events for one stream. *expected_version*: none is any, 0 a new stream, n exactly n.

    With *forked_from* a new stream goes on from a version of another one of the namespace: its first event has the
    next version, and is chained to that one. The other fields note on the stream's head what these
    events say.
    """

    stream: Stream
    events: tuple[NewEvent, ...]
    expected_version: int | None = None
    config_digest: bytes | None = None
    ended: bool | None = None
    forked_from: tuple[Stream, int] | None = None


class AppendRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Writes that stand or fall together, all in one namespace.

    With *request_id* and *request_hash* a repetition is recognised for days (trust R-6); without, only the
    store's own retries are.
    """

    writes: tuple[StreamWrite, ...]
    request_id: UUID | None = None
    request_hash: bytes | None = None


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """Where an event was stored, and its hash: a proof for the client."""

    stream_id: UUID
    version: int
    position: int
    event_id: UUID
    recorded_us: int
    hash: bytes


class Appended(msgspec.Struct, frozen=True):
    """The answer to a request: receipts in the order of its events; *replayed* if it was carried out before."""

    receipts: tuple[Receipt, ...]
    replayed: bool = False


class EarlierRequest(msgspec.Struct, frozen=True):
    """A request that was carried out: the hash it came with, and the receipts it was answered with."""

    request_hash: bytes
    receipts: tuple[Receipt, ...]


class NamespaceInfo(msgspec.Struct, frozen=True):
    """A namespace's name, the identity of its ledger, and its counter."""

    namespace: str
    ledger_id: UUID
    last_position: int


class StreamHead(msgspec.Struct, frozen=True):
    """What is stored about a stream beside its events."""

    stream_id: UUID
    user_id: str
    session_id: str
    version: int
    head_hash: bytes
    #: The stream it was forked from, and at which version.
    parent_id: UUID | None = None
    parent_version: int | None = None


class SessionLocation(msgspec.Struct, frozen=True):
    """Where a session with a known id is: its namespace and its user."""

    namespace_id: UUID
    user_id: str


class Appender(Protocol):
    """The only way to write events."""

    async def append(self, request: AppendRequest) -> Appended:
        """Append the events of *request*; they are durable when this returns.

        Nothing is written if it raises. An empty request returns no receipts.

        Raises:
            VersionConflict: a stream is not at its expected version, or the stream to fork into exists.
            VersionNotFound: a stream has no such version to fork.
            IdempotencyMismatch: the request id was used for another request.
            StreamClosed, StreamNameMismatch: the stream accepts no events, or has other names.
            InvalidInput: ``batch_size``, more than `MAX_EVENTS` events.
            Unavailable: the database could not be reached or refused.
        """
        ...

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        """Append many requests in one transaction and return how many events: all, or an error and nothing.

        *requests* is iterated once for each attempt; an iterator, which can be read only once, is copied to a list.
        """
        ...


class EventStore(Appender, Protocol):
    """All streams of all namespaces.

    Versions of a stream start at 1; *after* excludes its bound, *until* includes it. A fork reads as if the history of
    its parents, up to where each was forked, were its own; these events have their own stream id. Positions of a
    namespace are commit order without gaps (trust R-2).
    """

    async def find_request(self, stream: Stream, request_id: UUID) -> EarlierRequest | None:
        """Return the request with this id, if it wrote to *stream*; none once it is forgotten (trust R-6)."""
        ...

    async def prune_requests(self, namespace_id: UUID, *, days: int) -> int:
        """Forget idempotency keys older than *days*, at least one (trust R-6); return how many."""
        ...

    async def read_stream(
        self, stream: Stream, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[StoredEvent]:
        """Return events oldest first; none for an unknown stream."""
        ...

    async def read_versions(self, stream: Stream, wanted: Ranges) -> list[StoredEvent]:
        """Return the events at the versions in *wanted*, oldest first."""
        ...

    async def find_items(self, stream: Stream, item_ids: Sequence[str]) -> dict[str, list[int]]:
        """Return the versions of the events about each item id that is known, ascending."""
        ...

    async def head(self, stream: Stream) -> tuple[int, bytes]:
        """Return version and hash of the newest event; 0 and 32 zero bytes if there is none."""
        ...

    async def lineage(self, stream: Stream) -> list[StreamHead]:
        """Return the head of *stream* and, of a fork, those of its parents, nearest first; none if it is unknown."""
        ...

    async def version_at(self, stream: Stream, moment: datetime) -> int:
        """Return the newest version recorded at or before *moment*, 0 if none.

        The server clock may go backwards; then an event counts as recorded no later than the ones after it.
        """
        ...

    async def named(self, namespace_id: UUID, stream_ids: Sequence[UUID]) -> dict[UUID, tuple[str, str]]:
        """Return (user_id, session_id) of each stream that is known."""
        ...

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[SessionLocation]:
        """Return the sessions with this id that have not ended, in these namespaces; they may have expired."""
        ...

    async def read_namespace(self, namespace_id: UUID, *, after: int = 0, limit: int = 1_000) -> list[StoredEvent]:
        """Return up to *limit* events after position *after*, in position order."""
        ...

    async def namespace(self, namespace_id: UUID) -> NamespaceInfo | None:
        """Return what is known about a namespace; none if nothing was ever appended."""
        ...

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, NamespaceInfo]:
        """Return the names and counters of those of the namespaces that exist."""
        ...

    async def namespace_ids(self) -> list[UUID]:
        """Return the ids of all namespaces, whatever the caller may see of them (trust D-7)."""
        ...

    async def overview(self, namespace_id: UUID) -> tuple[NamespaceInfo, list[StreamHead]] | None:
        """Return a namespace and the heads of all its streams, by stream id, as of one moment."""
        ...
