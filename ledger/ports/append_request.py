"""What is appended to streams, and what the store answers. It is the only way to write events."""

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

import msgspec

from ledger.events import NewEvent
from ledger.events.ids import Stream


class StreamWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Events for one stream. *expected_version*: None accepts any version, 0 only a new stream, n only version n.

    With *forked_from* a new stream continues another stream of the namespace from a version: its first event has
    the next version and is chained to that one. With *items_after* the stream must have no event after that version
    about an item of these events, with *life_after* none that starts, ends, resumes or limits the life of the session.
    With *live_until_us* the events must be stored before that moment.
    """

    stream: Stream
    events: tuple[NewEvent, ...]
    expected_version: int | None = None
    items_after: int | None = None
    life_after: int | None = None
    live_until_us: int | None = None
    forked_from: tuple[Stream, int] | None = None


class AppendRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Writes to one namespace that succeed or fail together.

    With *request_id* and *request_hash* a repeated request is recognised for days. Without them only the
    store's own retries are.
    """

    # trust R-6
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
    """The answer to a request: receipts in the order of its events; *replayed* if it was executed before.

    *follows* is the hash of the event before the first one in its stream, if the store says it.
    """

    receipts: tuple[Receipt, ...]
    replayed: bool = False
    follows: bytes | None = None


class EarlierRequest(msgspec.Struct, frozen=True):
    """A request that was executed: its hash, and the receipts of its answer."""

    request_hash: bytes
    receipts: tuple[Receipt, ...]


class Appender(Protocol):
    """The only way to write events."""

    async def append(self, request: AppendRequest) -> Appended:
        """Append the events of *request*; they are durable when this returns.

        Nothing is written if it raises. An empty request returns no receipts.

        Raises:
            VersionConflict: a stream is not at its expected version; its life changed or an item is known; the moment
                of *live_until_us* has come; or the new stream of a fork already exists.
            VersionNotFound: the stream to fork does not have that version.
            IdempotencyMismatch: the request id was used for another request.
            StreamClosed, StreamNameMismatch: the stream accepts no events, or has other names.
            InvalidInput: ``batch_size``, more than `limits.EVENTS_PER_APPEND` events.
            Unavailable: the database could not be reached, or refused.
        """
        ...

    async def append_all(self, requests: Iterable[AppendRequest]) -> int:
        """Append many requests in one transaction and return the number of events; on an error nothing is written.

        *requests* is iterated once for each attempt. An iterator is copied to a list, as it can be read only once.
        """
        ...
