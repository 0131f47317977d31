"""Decided events as append requests: encoded, salted, with ids and times."""

import os
from collections.abc import Sequence
from hashlib import sha256

from ledger.canonical import canonical_json
from ledger.codec import SALT_BYTES, encode
from ledger.events import (
    ConfigChanged,
    EntryAdded,
    Event,
    JsonObject,
    NewEvent,
    SessionCleared,
    SessionOpened,
    to_microseconds,
)
from ledger.ids import Stream
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
    clock: Clock,
    actor: str,
) -> StreamWrite:
    """Return the part of a request that appends *events* to one stream, with what the store must know about them."""
    digest: bytes | None = None
    ended: bool | None = None
    forked_from: tuple[Stream, int] | None = None
    for event in events:
        match event:
            case SessionOpened(config=config, forked_from=origin):
                digest, ended = _digest(config), False
                if origin is not None:
                    parent = Stream.of(stream.namespace, origin.session_id, origin.user_id)
                    forked_from = (parent, origin.version)
            case ConfigChanged(config=config):
                digest = _digest(config)
            case SessionCleared():
                ended = event.ended
            case _:
                pass
    return StreamWrite(
        stream=stream,
        events=tuple(new_event(event, clock, actor) for event in events),
        expected_version=expected_version,
        items_after=items_after,
        config_digest=digest,
        ended=ended,
        forked_from=forked_from,
    )


def new_event(event: Event, clock: Clock, actor: str) -> NewEvent:
    """Return *event* encoded and salted, with an id and its time."""
    moment = event.created_at if isinstance(event, EntryAdded) else None
    codec, payload = encode(event, os.urandom(SALT_BYTES))
    return NewEvent(
        clock.event_id(),
        event.type,
        event.schema_version,
        codec,
        to_microseconds(moment or clock.now()),
        actor,
        payload,
        event.item_id,
    )


def _digest(config: JsonObject) -> bytes:
    return sha256(canonical_json(config)).digest()
