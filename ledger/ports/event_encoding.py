"""Decided events as append requests: encoded, salted, with ids and times."""

import os
from collections.abc import Sequence

from ledger.events import EntryAdded, Event, NewEvent, SessionOpened, to_microseconds
from ledger.events.codec import SALT_BYTES, encode
from ledger.events.ids import Stream
from ledger.ports import AppendRequest, Clock, StreamWrite


def append_request(
    stream: Stream, events: Sequence[Event], *, expected_version: int | None, clock: Clock, actor: str
) -> AppendRequest:
    """Return a request that appends *events* of *actor* to one stream."""
    write = stream_write(stream, events, expected_version=expected_version, clock=clock, actor=actor)
    return AppendRequest(writes=(write,))


def stream_write(
    stream: Stream,
    events: Sequence[Event],
    *,
    expected_version: int | None,
    items_after: int | None = None,
    life_after: int | None = None,
    live_until_us: int | None = None,
    clock: Clock,
    actor: str,
) -> StreamWrite:
    """Return the part of a request that appends *events* to one stream, with what the store must know about them.

    Raises:
        InvalidInput: an event could not be read again (trust N-14).
    """
    now_us = to_microseconds(clock.now())
    encoded = tuple([new_event(event, clock, actor, now_us=now_us) for event in events])
    forked_from: tuple[Stream, int] | None = None
    for event in events:
        if isinstance(event, SessionOpened) and event.forked_from is not None:
            origin = event.forked_from
            forked_from = (Stream.of(stream.namespace, origin.session_id, origin.user_id), origin.version)
    return StreamWrite(
        stream=stream,
        events=encoded,
        expected_version=expected_version,
        items_after=items_after,
        life_after=life_after,
        live_until_us=live_until_us,
        forked_from=forked_from,
    )


def new_event(event: Event, clock: Clock, actor: str, *, now_us: int | None = None) -> NewEvent:
    """Return *event* encoded and salted, with an id and its time: *now_us*, unless it says when it happened.

    Raises:
        InvalidInput: it could not be read again (trust N-14).
    """
    codec, structure, content = encode(event, os.urandom(SALT_BYTES))
    moment = event.created_at if isinstance(event, EntryAdded) else None
    if moment is not None or now_us is None:
        now_us = to_microseconds(moment or clock.now())
    return NewEvent(
        clock.event_id(),
        event.type,
        event.schema_version,
        codec,
        now_us,
        actor,
        structure,
        content,
        event.item_id,
    )
