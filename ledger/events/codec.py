"""Payloads to bytes and back; decoding reverses encoding.

    event ── canonical JSON ── 16 random bytes before it (codec 1) ── stored bytes
    stored bytes ── salt off ── JSON ── upcast to the newest schema ── event

Source: trust H-18, R-TOK-7.
"""

from collections.abc import Sequence

import msgspec

from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import EVENT_TYPES, Event, JsonObject, OpaqueEvent, RecordedEvent, StoredEvent, UndecodedEvent
from ledger.events.canonical import canonical_json
from ledger.events.chain import check_versions
from ledger.events.limits import CONTENT_BYTES, PAYLOAD_BYTES
from ledger.events.storable import FAULTS, check_texts, other_value, refusal
from ledger.events.upcasts import UpcastFailed, reads_as, upcast

PLAIN, SALTED, SEALED = 0, 1, 2  # trust H-18: JSON; salt + JSON; encrypted (second stage)
SALT_BYTES = 16

_DECODERS = {name: msgspec.json.Decoder(cls) for name, cls in EVENT_TYPES.items()}
_OBJECT = msgspec.json.Decoder(JsonObject)


def encode(event: Event, salt: bytes) -> tuple[int, bytes]:
    """Return codec number and stored bytes of *event*; with an empty *salt* it is stored plain.

    Without a salt, a short text could be guessed from its digest, even after it was erased.

    Raises:
        InvalidInput: the event could not be read again, or is too large; *field* is the path of the fault.
    """
    try:
        body = canonical_json(event)
        read = _DECODERS[event.type].decode(body)
    except FAULTS as fault:
        raise refusal(event, fault) from fault
    if read != event:
        raise other_value(event, read)
    if len(body) + len(salt) > PAYLOAD_BYTES:
        raise InvalidInput(
            "payload_too_large", f"an event must have at most {PAYLOAD_BYTES} bytes", limit=PAYLOAD_BYTES
        )
    if len(body) > CONTENT_BYTES or b"\\u0000" in body:
        check_texts(event)
    return (SALTED, salt + body) if salt else (PLAIN, body)


def stored_json(codec: int, payload: bytes) -> bytes:
    """Return the JSON inside stored bytes.

    Raises:
        LogCorrupted: this release cannot read the codec without a key.
    """
    if codec == SALTED:
        return payload[SALT_BYTES:]
    if codec == PLAIN:
        return payload
    raise LogCorrupted(f"payload codec {codec} cannot be read without its key; run `memory-ledger doctor`")


def decode(stored: StoredEvent | UndecodedEvent) -> RecordedEvent:
    """Return *stored* with its payload as a struct, upcast to the newest schema.

    An event type or schema version of a newer release comes back as `OpaqueEvent`.

    Raises:
        LogCorrupted: the payload is missing or does not parse.
    """
    if stored.payload is None:
        raise LogCorrupted(f"event {stored.version} has no payload; run `memory-ledger verify`")
    body = stored_json(stored.codec, stored.payload)
    try:
        payload = decode_payload(stored.type, stored.schema_version, body)
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
    if cls is None or schema_version > cls.schema_version:
        return OpaqueEvent(type_, schema_version, _OBJECT.decode(body))
    if schema_version == cls.schema_version or reads_as(type_, schema_version, to=cls.schema_version):
        return _DECODERS[type_].decode(body)
    return msgspec.convert(upcast(type_, schema_version, _OBJECT.decode(body), to=cls.schema_version), cls)


def to_builtins(event: Event | OpaqueEvent) -> JsonObject:
    """Return the payload as plain JSON, for listings."""
    if isinstance(event, OpaqueEvent):
        return event.payload
    return _OBJECT.decode(canonical_json(event))
