"""What a session once had and has no longer, and what its items once said; looked up by whoever calls."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from ledger.events import EntryAdded, Listed, MemoryFields

#: ``active`` items are in the state; they are looked up only for what they once said.
PastStatus: TypeAlias = Literal["active", "covered", "removed", "cleared"]


class PastItem(msgspec.Struct, frozen=True, kw_only=True):
    """The newest item under an id, what became of it, and every (role, content) or (text, type) it ever had."""

    item_id: str
    status: PastStatus
    version: int
    write_id: str
    says: tuple[str, str]
    earlier: tuple[tuple[str, str], ...] = ()
    listed: Listed | None = None
    created_at: datetime | None = None
    persisted_at: datetime | None = None
    extracted: bool = False
    fields: MemoryFields | None = None
    #: The event of a message, whose other fields come back with it.
    added: EntryAdded | None = None


class Remembered(msgspec.Struct, frozen=True):
    """Past messages and memories by id."""

    messages: Mapping[str, PastItem] = {}
    memories: Mapping[str, PastItem] = {}
