"""Server-sent events of a session or of a whole namespace (http W-67).

Each event is sent at least once and in order; a reader that was cut off continues from the last id it received. A
stream holds no database connection while it waits.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Header, Query, Request
from starlette.responses import StreamingResponse

from ledger.application.json_models.event_json import EventShape
from ledger.errors import InvalidInput, LedgerError
from ledger.events.canonical import canonical_json
from ledger.events.ids import namespace_id
from ledger.events.strict_json import INT_MAX
from ledger.history.log_reads import LoggedEvent
from ledger.server.access.callers import ReadCaller, still_permits
from ledger.server.http.dependencies import LedgerOf, ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import AfterVersion, whole_number
from ledger.server.native.session_conditions_of_writes import SessionOf
from ledger.server.notifier import Signal
from ledger.server.service import Service
from ledger.server.traffic.slots import SLOT

router = native_router(tags=["events"])

COMMENT_S: Final = 15.0
#: How often the credential of a stream is checked again (trust S-2).
CHECK_S: Final = 1.0
_PAGE: Final = 100
_PLACE: Final = re.compile(r"([0-9]{1,19})(?:-([0-9a-f]{16}))?")
#: Digits of an event's hash in its id, so that another event at its place is not taken for it.
_DIGITS: Final = 16
#: The code of the error that tells a reader that the log went back.
_AHEAD: Final = "last_event_id_ahead"

#: Reads the events after a place, which is a version or a position.
Read: TypeAlias = Callable[[int], Awaitable[Sequence[LoggedEvent]]]
LastEventId: TypeAlias = Annotated[
    str | None,
    Header(
        description="The id of the last event that arrived; replaces the parameter.", examples=["7-0a1b2c3d4e5f6071"]
    ),
]

_STREAMS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events: `id` is the place and a part of the hash, `event` the type, `data` the event as JSON.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'id: 2-0a1b2c3d4e5f6071\nevent: entry.added\ndata: {"version":2,"type":"entry.added"}\n\n',
            }
        },
    },
}


class EventStream(StreamingResponse):
    """An answer of server-sent events."""

    media_type = "text/event-stream"


@router.get(
    "/v1/sessions/{session_id}/events/stream",
    responses=_STREAMS,
    response_class=EventStream,
    operation_id="stream_session_events",
)
async def of_session(
    request: Request,
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    namespace: Annotated[str | None, Query()] = None,
    after_version: AfterVersion = 0,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Follow a session: its events after a version, then each new one."""
    await session.state()
    after, digits = _place(last_event_id, after_version)

    async def read(place: int) -> Sequence[LoggedEvent]:
        return (await session.ledger.get_log(after_version=place, limit=_PAGE, **session.names)).events

    return await _follow(request, service, caller.namespace(namespace), read, "version", after, arrived=digits)


@router.get("/v1/events/stream", responses=_STREAMS, response_class=EventStream, operation_id="stream_namespace_events")
async def of_namespace(
    request: Request,
    ledger: LedgerOf,
    caller: ReadCaller,
    service: ServiceOf,
    namespace: Annotated[str | None, Query()] = None,
    after: Annotated[int, whole_number("after", least=0), Query(description="A position; not included.")] = 0,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Follow a namespace: its events after a position, in order, then each new one."""

    async def read(place: int) -> Sequence[LoggedEvent]:
        return await ledger.get_feed(after=place, limit=_PAGE)

    after, digits = _place(last_event_id, after)
    return await _follow(request, service, caller.namespace(namespace), read, "position", after, arrived=digits)


def _place(last_event_id: str | None, after: int) -> tuple[int, str | None]:
    """Return the place after which a stream goes on, and the digits of the event there; None if none arrived."""
    if last_event_id is None:
        return after, None
    found = _PLACE.fullmatch(last_event_id)
    if not found or int(found[1]) > INT_MAX:
        raise InvalidInput("bad_last_event_id", "must be the id of an event of this stream", field="last-event-id")
    return int(found[1]), found[2] or ""


async def _follow(
    request: Request, service: Service, namespace: str, read: Read, place: str, after: int, *, arrived: str | None
) -> EventStream:
    """Return a stream of the events that *read* returns after *after*; the id of each is its field *place*.

    It ends when the credential is no longer valid. If the event *after* itself *arrived* before, it must still exist,
    with a hash that begins with these digits.

    Raises:
        InvalidInput: it does not: the log went back, and what the reader has is no longer its history.
        RateLimited: too many streams are open.
        Unavailable: the first events cannot be read. A later error ends the stream, and its reader reconnects.
    """
    request.scope[SLOT].move("stream")
    open_streams = AsyncExitStack()
    signal = await open_streams.enter_async_context(service.notifier.listen(namespace_id(namespace)))
    try:
        notified = signal.next
        found = await read(max(after - 1, 0))
        last = next((event.hash for event in found if getattr(event, place) == after), None)
        if arrived is not None and after and (last is None or not last.startswith(arrived)):
            raise InvalidInput(
                _AHEAD,
                "is not of an event in the log: the log went back, as after a restore from a "
                "backup; forget what you read, and read from the start",
                field="last-event-id",
            )
        first = [event for event in found if getattr(event, place) > after]
    except BaseException:
        await open_streams.aclose()
        raise

    async def lines() -> AsyncIterator[bytes]:
        async with open_streams:
            next_check_s = time.monotonic() + CHECK_S
            async for line in _lines(service, signal, notified, read, place, after, last, first):
                if line:
                    yield line
                if time.monotonic() >= next_check_s:
                    if not await still_permits(request, "read", namespace):
                        return
                    next_check_s = time.monotonic() + CHECK_S

    return EventStream(lines())


async def _lines(
    service: Service,
    signal: Signal,
    notified: asyncio.Event,
    read: Read,
    place: str,
    after: int,
    last: str | None,
    page: Sequence[LoggedEvent],
) -> AsyncIterator[bytes]:
    """Yield the lines of a stream; an empty one now and then while there are none.

    *last* is the hash of the event *after*, if there is one. Once that is another, the stream ends: its reader comes
    back with the id of that event, and is told.
    """
    yield b": connected\n\n"
    quiet_s = 0.0
    while not service.stopping.is_set():
        for event in page:
            after, last = getattr(event, place), event.hash
            yield _line(event, after)
        wait_s = min(CHECK_S, COMMENT_S)
        if not page and not await _notified(notified, service.stopping, wait_s):
            quiet_s += wait_s
            yield b": waiting\n\n" if quiet_s >= COMMENT_S else b""
            quiet_s %= COMMENT_S
            continue
        notified = signal.next  # taken before the read, so that an append during it is noticed
        try:
            page = await read(after if last is None else after - 1)
        except LedgerError:
            return
        if last is not None:
            if not page or page[0].hash != last:
                return
            page = page[1:]


async def _notified(notified: asyncio.Event, stopping: asyncio.Event, wait_s: float) -> bool:
    """Wait for new events or the stop of the service; return False if *wait_s* seconds pass first."""
    waiting = [asyncio.ensure_future(each.wait()) for each in (notified, stopping)]
    try:
        done, _ = await asyncio.wait(waiting, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        for each in waiting:
            each.cancel()


def _line(event: LoggedEvent, place: int) -> bytes:
    data = canonical_json(EventShape.model_validate(event).model_dump(mode="json"))
    digits = event.hash[:_DIGITS].encode()
    return b"id: %d-%s\nevent: %s\ndata: %s\n\n" % (place, digits, event.type.encode(), data)
