"""Events and requests as the suite sends them: of a type no fold knows, so only the store's behaviour counts."""

from uuid import UUID

from ledger.events import NewEvent, to_microseconds
from ledger.events.canonical import canonical_json
from ledger.events.chain import request_hash
from ledger.events.clock import SystemClock
from ledger.events.codec import SALT_BYTES, SALTED
from ledger.events.ids import Stream, request_id
from ledger.ports import Appended, AppendRequest, Store, StreamWrite

CLOCK = SystemClock()


def an_event(text: str = "hello", *, type: str = "note.made", item_id: str | None = None, actor: str = "") -> NewEvent:
    """Return an event with a new id."""
    moment = to_microseconds(CLOCK.now())
    content = bytes(SALT_BYTES) + canonical_json({"text": text})
    return NewEvent(CLOCK.event_id(), type, 1, SALTED, moment, actor, b'{"write_id":"w"}', content, item_id)


def some_events(count: int, text: str = "hello") -> tuple[NewEvent, ...]:
    """Return *count* events, numbered in their text."""
    return tuple(an_event(f"{text} {number}") for number in range(count))


def a_write(stream: Stream, *events: NewEvent, expected: int | None = None) -> StreamWrite:
    """Return events for one stream."""
    return StreamWrite(stream=stream, events=events, expected_version=expected)


def a_request(*writes: StreamWrite, key: str | None = None, body: str = "") -> AppendRequest:
    """Return writes as one request; with *key* as a client's, whose content is *body*."""
    if key is None:
        return AppendRequest(writes=writes)
    lowest = min(write.stream.stream_id for write in writes)
    return AppendRequest(
        writes=writes,
        request_id=request_id(lowest, "tester", key),
        request_hash=request_hash("test", body.encode()),
    )


async def append(store: Store, stream: Stream, *events: NewEvent, expected: int | None = None) -> Appended:
    """Append to one stream."""
    return await store.events.append(a_request(a_write(stream, *events, expected=expected)))


async def ids_in(store: Store, stream: Stream) -> list[UUID]:
    """Return the ids of a stream's events, in order."""
    return [event.event_id for event in await store.events.read_stream(stream)]


def ids_of(events: tuple[NewEvent, ...]) -> list[UUID]:
    """Return the ids of *events*."""
    return [event.event_id for event in events]


async def fork(store: Store, parent: Stream, version: int, child: Stream, *events: NewEvent) -> Appended:
    """Begin *child* with *events* where *parent* is at *version*."""
    return await store.events.append(a_request(StreamWrite(stream=child, events=events, forked_from=(parent, version))))
