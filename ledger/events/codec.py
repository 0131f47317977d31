"""Payloads to bytes and back; decoding reverses encoding.

    event ── structure ── canonical JSON ──────────────────────────────────── stored structure
          └─ content ──── canonical JSON ── 16 random bytes before it ─────── stored content
    both ── salt off ── joined ── upcast to the newest schema ── event

Source: trust H-18, D-3, R-TOK-7.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import (
    EVENT_TYPES,
    Event,
    JsonObject,
    OpaqueEvent,
    RecordedEvent,
    StoredEvent,
    UndecodedEvent,
)
from ledger.events.canonical import canonical_json
from ledger.events.chain import check_versions
from ledger.events.content_split import fits, joined, split
from ledger.events.limits import CONTENT_BYTES, PAYLOAD_BYTES
from ledger.events.storable import FAULTS, check_texts, other_value, refusal
from ledger.events.upcasts import UpcastFailed, reads_as, upcast

NO_CONTENT, SALTED, SEALED = 0, 1, 2  # trust H-18: none; salt + JSON; encrypted (second stage)
SALT_BYTES = 16

#: What reading bytes raises that are no JSON of an event: not UTF-8 and too deep, too.
UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)

_DECODERS = {name: msgspec.json.Decoder(cls) for name, cls in EVENT_TYPES.items()}
_OBJECT = msgspec.json.Decoder(JsonObject)


def encode(event: Event, salt: bytes) -> tuple[int, bytes, bytes | None]:
    """Return codec number, structure and content of *event* as they are stored; *salt* are 16 random bytes.

    Without a salt, a short text could be guessed from its digest, even after it was erased.

    Raises:
        InvalidInput: the event could not be read again, or is too large; *field* is the path of the fault.
    """
    try:
        structure, content = split(event)
        whole = joined(event.type, event.schema_version, structure, content) if content else structure
        read = _DECODERS[event.type].decode(whole)
    except FAULTS as fault:
        raise refusal(event, fault) from fault
    if read != event:
        raise other_value(event, read)
    stored = None if content is None else salt + content
    if len(structure) + len(stored or b"") > PAYLOAD_BYTES:
        raise InvalidInput(
            "payload_too_large", f"an event must have at most {PAYLOAD_BYTES} bytes", limit=PAYLOAD_BYTES
        )
    if any(len(part) > CONTENT_BYTES or b"\\u0000" in part for part in (structure, content or b"")):
        check_texts(event)
    return NO_CONTENT if stored is None else SALTED, structure, stored


def content_json(codec: int, content: bytes) -> bytes:
    """Return the JSON inside stored content.

    Raises:
        LogCorrupted: this release cannot read the codec without a key.
    """
    if codec == SALTED:
        return content[SALT_BYTES:]
    if codec == SEALED:
        raise LogCorrupted(f"content of codec {codec} cannot be read without its key; run `memory-ledger doctor`")
    raise LogCorrupted(f"this release knows no content of codec {codec}; run `memory-ledger verify`")


def stored_json(event: StoredEvent | UndecodedEvent) -> bytes:
    """Return the JSON of an event, of structure and content.

    Raises:
        LogCorrupted: its content is missing, cannot be read, or does not fit the structure.
    """
    if event.content is None:
        if event.codec != NO_CONTENT:
            raise LogCorrupted("its content is missing; run `memory-ledger verify`")
        return event.structure
    body = content_json(event.codec, event.content)
    try:
        return joined(event.type, event.schema_version, event.structure, body)
    except UNREADABLE as fault:
        raise LogCorrupted(f"structure and content do not fit together: {fault}") from fault


def is_split(event: StoredEvent) -> bool:
    """Tell whether *event* has all its content, and nothing else, in its content; a newer type passes.

    Raises:
        LogCorrupted: this release cannot read the content without a key.
        msgspec.MsgspecError: a part of it is not a JSON object.
    """
    content = None if event.content is None else content_json(event.codec, event.content)
    try:
        return fits(event.type, event.schema_version, event.structure, content)
    except (ValueError, RecursionError) as fault:
        raise msgspec.DecodeError(str(fault)) from fault


def decode(stored: StoredEvent | UndecodedEvent) -> RecordedEvent:
    """Return *stored* with its payload as a struct, upcast to the newest schema.

    An event type or schema version of a newer release comes back as `OpaqueEvent`.

    Raises:
        LogCorrupted: its content is missing, or it does not parse.
    """
    try:
        payload = decode_payload(stored.type, stored.schema_version, stored_json(stored))
    except LogCorrupted as fault:
        raise LogCorrupted(f"event {stored.version} ({stored.type}): {fault}") from fault
    except msgspec.MsgspecError as fault:
        raise LogCorrupted(f"event {stored.version} ({stored.type}) does not parse: {fault}") from fault
    except UpcastFailed as failed:
        raise LogCorrupted(f"event {stored.version} ({stored.type}) cannot be read: {failed}") from failed
    return RecordedEvent(
        stored.version,
        stored.position,
        stored.event_id,
        stored.occurred_us,
        stored.recorded_us,
        stored.actor,
        payload,
    )


def decode_in_order(events: Sequence[StoredEvent | UndecodedEvent], *, after: int) -> list[RecordedEvent]:
    """Decode *events*, as `decode` does, that follow version *after* of their session one by one.

    Raises:
        LogCorrupted: a version is missing, or occurs twice.
    """
    check_versions(events, after=after)
    return [decode(stored) for stored in events]


def decode_payload(type_: str, schema_version: int, body: bytes) -> Event | OpaqueEvent:
    """Return the payload in JSON *body*; opaque if this release does not know *type_* or *schema_version*.

    Raises:
        msgspec.MsgspecError: the JSON does not have the shape of its type, or is not an object.
        UpcastFailed: a step to the newest schema failed.
    """
    cls = EVENT_TYPES.get(type_)
    try:
        if cls is None or schema_version > cls.schema_version:
            return OpaqueEvent(type_, schema_version, _OBJECT.decode(body))
        if schema_version == cls.schema_version or reads_as(type_, schema_version, to=cls.schema_version):
            return _DECODERS[type_].decode(body)
        return msgspec.convert(upcast(type_, schema_version, _OBJECT.decode(body), to=cls.schema_version), cls)
    except (ValueError, RecursionError) as fault:
        raise msgspec.DecodeError(str(fault)) from fault


def to_builtins(event: Event | OpaqueEvent) -> JsonObject:
    """Return the payload as plain JSON, for listings."""
    if isinstance(event, OpaqueEvent):
        return event.payload
    return _OBJECT.decode(canonical_json(event))
