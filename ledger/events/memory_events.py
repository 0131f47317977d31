"""Events of structured memories of a session, and of their promotion to long-term memory."""

from datetime import datetime

import msgspec

from ledger.events.entry_events import KnownToWriter
from ledger.events.payload_types import Content, JsonObject, Payload, PayloadPart


class MemoryFields(PayloadPart, frozen=True):
    """The content of a memory, in a session or as a record of long-term memory.

    ``memory_type`` is ``message``, ``semantic`` or ``episodic``; ``event_date`` is when the described event happened;
    ``extracted_from`` are ids of messages.
    """

    text: Content[str]
    memory_type: str = "message"
    user_id: str | None = None
    session_id: str | None = None
    namespace: str | None = None
    topics: Content[tuple[str, ...] | None] = None
    entities: Content[tuple[str, ...] | None] = None
    event_date: datetime | None = None
    created_at: datetime | None = None
    pinned: bool = False
    extracted: bool = False
    extracted_from: tuple[str, ...] | None = None
    extraction_strategy: str = "discrete"
    extraction_strategy_config: JsonObject = msgspec.field(default_factory=dict)
    metadata: Content[JsonObject] = msgspec.field(default_factory=dict)


class _AboutMemory(Payload, frozen=True):
    """Base of events about one memory of a session."""

    memory_id: str

    @property
    def item_id(self) -> str:
        """The memory's id."""
        return self.memory_id


class MemoryAdded(_AboutMemory, frozen=True):
    """A memory was added to the session, or came back; without *persisted_at*, it is still to be promoted."""

    type = "memory.added"
    fields: MemoryFields
    persisted_at: datetime | None = None
    listed: KnownToWriter | None = None


class MemoryEdited(_AboutMemory, frozen=True):
    """A client changed a memory; *fields* is its whole new content."""

    type = "memory.edited"
    memory_version: int
    fields: MemoryFields


class MemoryRemoved(_AboutMemory, frozen=True):
    """A client removed a memory from the session; its record stays."""

    type = "memory.removed"
    memory_version: int


class MemoryPromoted(_AboutMemory, frozen=True):
    """The memory added at *memory_version* is now a record of long-term memory."""

    type = "memory.promoted"
    memory_version: int
    record_id: str
