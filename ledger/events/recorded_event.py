"""The forms of an event on its way: new, stored, recorded."""

from datetime import datetime
from uuid import UUID

import msgspec

from ledger.events.payload_types import JsonObject, to_datetime
from ledger.events.payloads import Event


class OpaqueEvent(msgspec.Struct, frozen=True):
    """An event of a newer release: it can be listed, exported and verified, but not folded."""

    type: str
    schema_version: int
    payload: JsonObject

    @property
    def write_id(self) -> str:
        """The id of the batch, if the newer release still writes it."""
        return str(self.payload.get("write_id", ""))


class NewEvent(msgspec.Struct, frozen=True, gc=False):
    """An event to be stored; *payload* are the exact bytes that will be hashed and stored."""

    event_id: UUID
    type: str
    schema_version: int
    codec: int
    occurred_us: int
    actor: str
    payload: bytes
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: bytes | None = None


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored: every hashed field, and the bytes of its payload."""

    namespace_id: UUID
    stream_id: UUID
    version: int
    position: int
    event_id: UUID
    type: str
    schema_version: int
    codec: int
    occurred_us: int
    recorded_us: int
    actor: str
    payload_digest: bytes
    hash: bytes
    payload: bytes | None
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: bytes | None = None


class UndecodedEvent(msgspec.Struct, frozen=True, gc=False):
    """What a fold needs of a stored event: its place, its payload as bytes, and its hash."""

    version: int
    position: int
    event_id: UUID
    type: str
    schema_version: int
    codec: int
    occurred_us: int
    recorded_us: int
    actor: str
    hash: bytes
    payload: bytes | None

    @classmethod
    def of(cls, stored: StoredEvent) -> "UndecodedEvent":
        """Return *stored* without its other fields."""
        return cls(*(getattr(stored, name) for name in cls.__struct_fields__))


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in the log and its decoded payload."""

    version: int
    position: int
    event_id: UUID
    occurred_us: int
    recorded_us: int
    actor: str
    payload: Event | OpaqueEvent

    @property
    def type(self) -> str:
        """The type name of the payload, such as ``entry.added``."""
        return self.payload.type

    @property
    def occurred_at(self) -> datetime:
        """When it happened, as the client says."""
        return to_datetime(self.occurred_us)

    @property
    def recorded_at(self) -> datetime:
        """When it was stored, by the server's clock; only positions give the order."""
        return to_datetime(self.recorded_us)
