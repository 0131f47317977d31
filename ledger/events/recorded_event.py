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
    """An event to be stored; *structure* and *content* are the exact bytes that will be hashed and stored.

    One that has no content has the codec 0.
    """

    event_id: UUID
    type: str
    schema_version: int
    codec: int
    occurred_us: int
    actor: str
    structure: bytes
    content: bytes | None = None
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: bytes | None = None

    @property
    def size_b(self) -> int:
        """Bytes of structure and content."""
        return len(self.structure) + len(self.content or b"")


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored: every hashed field, the bytes of its structure, and those of its content.

    *content_digest* is null if it never had content; *content* is null then, and where it was erased.
    """

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
    content_digest: bytes | None
    hash: bytes
    structure: bytes
    content: bytes | None
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: bytes | None = None

    @property
    def size_b(self) -> int:
        """Bytes of structure and content."""
        return len(self.structure) + len(self.content or b"")

    @property
    def is_erased(self) -> bool:
        """Whether it had content and has none now."""
        return self.content is None and self.content_digest is not None


class UndecodedEvent(msgspec.Struct, frozen=True, gc=False):
    """What a fold needs of a stored event: its place, its structure and content as bytes, and its hash."""

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
    structure: bytes
    content: bytes | None

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
