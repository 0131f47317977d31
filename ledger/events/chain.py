"""The hash chain: an event's frame, byte by byte, and its SHA-256. Source: trust H-1 … H-20."""

import struct
from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

from ledger.errors import LogCorrupted
from ledger.events import NewEvent, StoredEvent, UndecodedEvent
from ledger.events.ids import Stream

TAG = b"mledger/event/2\n"  # trust H-17: a changed frame gets a new tag
ZERO_HASH = bytes(32)

_PLACE = struct.Struct("!16s16s16sqq16sI")
_MIDDLE = struct.Struct("!hhqqI")
_LENGTH = struct.Struct("!I")


def frame(event: StoredEvent, previous_hash: bytes) -> bytes:
    """Return the bytes that are hashed: 237 + type + actor, and 16 more with a key (trust H-17).

    ``content_digest`` is not checked here; a verifier compares it with the content.
    """
    return _frame(
        event,
        event.namespace_id,
        event.stream_id,
        event.version,
        event.position,
        event.recorded_us,
        event.content_digest,
        previous_hash,
    )


def event_hash(event: StoredEvent, previous_hash: bytes) -> bytes:
    """Return the hash of *event*, whose predecessor in the stream has *previous_hash*."""
    return sha256(frame(event, previous_hash)).digest()


def follows(event: StoredEvent, previous_hash: bytes) -> bool:
    """Return whether *event* has the hash of its fields and *previous_hash*."""
    try:
        return event_hash(event, previous_hash) == event.hash
    except struct.error:  # a value that no writer could have hashed
        return False


def hash_at(
    new: NewEvent, stream: Stream, version: int, position: int, recorded_us: int, previous_hash: bytes
) -> bytes:
    """Return the hash of *new* at its place in the log, chained to *previous_hash*."""
    digest = digest_of(new.content)
    return sha256(
        _frame(new, stream.namespace_id, stream.stream_id, version, position, recorded_us, digest, previous_hash)
    ).digest()


def digest_of(content: bytes | None) -> bytes | None:
    """Return the SHA-256 of stored content; None for an event that has none."""
    return None if content is None else sha256(content).digest()


def place(
    new: NewEvent,
    *,
    namespace_id: UUID,
    stream_id: UUID,
    version: int,
    position: int,
    recorded_us: int,
    previous_hash: bytes,
) -> StoredEvent:
    """Return *new* at its place in the log, chained to *previous_hash*."""
    digest = digest_of(new.content)
    framed = _frame(new, namespace_id, stream_id, version, position, recorded_us, digest, previous_hash)
    return StoredEvent(
        namespace_id,
        stream_id,
        version,
        position,
        new.event_id,
        new.type,
        new.schema_version,
        new.codec,
        new.occurred_us,
        recorded_us,
        new.actor,
        digest,
        sha256(framed).digest(),
        new.structure,
        new.content,
        new.item_id,
        new.key_id,
        new.key_commitment,
    )


def _frame(
    event: NewEvent | StoredEvent,
    namespace_id: UUID,
    stream_id: UUID,
    version: int,
    position: int,
    recorded_us: int,
    content_digest: bytes | None,
    previous_hash: bytes,
) -> bytes:
    type_ = event.type.encode()
    actor = event.actor.encode()
    return b"".join(
        (
            _PLACE.pack(TAG, namespace_id.bytes, stream_id.bytes, version, position, event.event_id.bytes, len(type_)),
            type_,
            _MIDDLE.pack(event.schema_version, event.codec, event.occurred_us, recorded_us, len(actor)),
            actor,
            b"\x00" if event.key_id is None else b"\x01" + event.key_id.bytes,
            event.key_commitment or ZERO_HASH,
            sha256(event.structure).digest(),
            content_digest or ZERO_HASH,
            previous_hash,
        )
    )


def request_hash(operation: str, body: bytes) -> bytes:
    """Return the hash that tells two requests with one idempotency key apart. Source: trust R-6."""
    name = operation.encode()
    return sha256(
        b"".join((b"mledger/request/1\n", _LENGTH.pack(len(name)), name, _LENGTH.pack(len(body)), body))
    ).digest()


def check_positions(events: Iterable[StoredEvent], *, after: int) -> None:
    """Check that *events* follow position *after* one by one, as all that follow a namespace must (trust K-5).

    Raises:
        LogCorrupted: a position is missing, or occurs twice.
    """
    for position, event in enumerate(events, start=after + 1):
        if event.position != position:
            raise LogCorrupted(f"position {position} is missing; run `memory-ledger verify`")


def check_versions(events: Iterable[StoredEvent | UndecodedEvent], *, after: int) -> None:
    """Check that *events* follow version *after* of their session one by one.

    Raises:
        LogCorrupted: a version is missing, or occurs twice.
    """
    for version, event in enumerate(events, start=after + 1):
        if event.version != version:
            raise LogCorrupted(f"version {version} is missing; run `memory-ledger verify`")
