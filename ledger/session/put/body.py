"""What a client sent, already checked for its shape. Source: http W-16."""

from datetime import datetime

import msgspec

from ledger.events import Extraction, JsonObject, MemoryFields


class BodyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message as sent; without *id* it is recognised by what it says, or gets one."""

    role: str
    content: str
    id: str | None = None
    created_at: datetime | None = None
    persisted_at: datetime | None = None
    extracted: bool = False

    @property
    def says(self) -> tuple[str, str]:
        """What makes two messages equal."""
        return self.role, self.content


class BodyMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as sent; *sent* names the fields that were there, for the others keep their value (http W-29)."""

    fields: MemoryFields
    id: str | None = None
    sent: frozenset[str] = frozenset()
    persisted_at: datetime | None = None

    @property
    def says(self) -> tuple[str, str]:
        """What makes two memories equal."""
        return self.fields.text, self.fields.memory_type


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A whole body. Absent, null and empty are one for lists, data and context; *ttl_sent* tells null from absent."""

    messages: tuple[BodyMessage, ...] = ()
    memories: tuple[BodyMemory, ...] = ()
    data: JsonObject = msgspec.field(default_factory=dict)
    context: str = ""
    tokens: int = 0
    extraction: Extraction | None = None
    ttl_seconds: int | None = None
    ttl_sent: bool = False
