"""Entries: added, edited, removed, and what became of them in long-term memory."""

from datetime import datetime
from typing import Any

from ledger.events.base import JsonObject, Kind, Payload, PayloadPart, Ranges, ToolStatus
from ledger.events.compactions import ModelOutput


class KnownToWriter(PayloadPart, frozen=True):
    """What a writer knew: every item active at version *until*, but those at the versions in *without*.

    Who lists an item that came with it vouches for having seen the rest.
    """

    until: int
    without: Ranges = ()


class EntryAdded(Payload, frozen=True):
    """One item joined the conversation; counts are facts and never recomputed.

    One that comes back, or moves to the end, is added again, with its id and its flags: *persisted_at* says when
    it became a record of long-term memory, *extracted* whether memories were made of it. *listed*, on the first of a
    write, says what the writer knew; without it, only what it wrote.
    """

    type = "entry.added"
    schema_version = 2
    entry_id: str
    kind: Kind
    role: str
    content: str
    tokens: int
    tokenizer: str
    fallback: bool = False
    data: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Any = None
    created_at: datetime | None = None
    metadata: JsonObject | None = None
    persisted_at: datetime | None = None
    extracted: bool = False
    listed: KnownToWriter | None = None

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntryEdited(Payload, frozen=True):
    """A client replaced an entry's text; its place stays. Absent fields are unchanged."""

    type = "entry.edited"
    schema_version = 2
    entry_id: str
    entry_version: int
    content: str
    tokens: int
    tokens_before: int
    tokenizer: str
    fallback: bool = False
    role: str | None = None

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntryRemoved(Payload, frozen=True):
    """A client withdrew an entry; *tokens* left the window with it."""

    type = "entry.removed"
    entry_id: str
    entry_version: int
    tokens: int

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntriesExtracted(Payload, frozen=True):
    """Memories were made of the entries at the versions *covered*: these records, perhaps none."""

    type = "entries.extracted"
    covered: Ranges
    strategy: str
    record_ids: tuple[str, ...] = ()
    model: str | None = None
    outputs: tuple[ModelOutput, ...] = ()


class EntriesIndexed(Payload, frozen=True):
    """Each entry at the versions *covered* became a record of its own, with the entry's id."""

    type = "entries.indexed"
    covered: Ranges
