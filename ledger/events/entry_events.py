"""Events of entries: added, edited, removed, extracted, and indexed in long-term memory."""

from datetime import datetime
from typing import Any, Final

from ledger.events.compaction_events import ModelOutput
from ledger.events.payload_types import Content, JsonObject, Kind, Payload, PayloadPart, Ranges, ToolStatus


class KnownToWriter(PayloadPart, frozen=True):
    """What a writer knew: every item active at version *until*, but not those at the versions in *without*.

    A later body that lists an item of this write proves that its writer had seen the others too.
    """

    until: int
    without: Ranges = ()


class ContentFacts(PayloadPart, frozen=True):
    """What folds need to know of an entry's content: they work without the content itself.

    *thinks*: it is what the model thought, or has that beside it. *of_server_tool*: it is a call or result of a tool
    that the provider ran inside its answer. *turn_goes_on*: more of the answer is to come. *reads_as_error*: its first
    word says that something failed. *input_tokens* are those that the model reported with it. *window_not_known*: the
    log that it was read from does not tell what the agent sent.
    """

    thinks: bool = False
    of_server_tool: bool = False
    turn_goes_on: bool = False
    reads_as_error: bool = False
    input_tokens: int | None = None
    window_not_known: bool = False


#: Of most entries: a default, which is not stored.
NO_FACTS: Final = ContentFacts()


class EntryAdded(Payload, frozen=True):
    """An entry was added to the conversation; its token count is a fact and is never computed again.

    An entry that comes back, or moves to the end, is added again with its id and flags: *persisted_at* is when it
    became a record of long-term memory, *extracted* whether memories were extracted from it. *listed*, on the first
    entry of a write, is what the writer knew; without it, the writer knew only what it wrote. *past* is true if the
    entry was imported, recorded from a report or restored: no compaction follows it.
    """

    type = "entry.added"
    schema_version = 2
    entry_id: str
    kind: Kind
    role: str
    content: Content[str]
    tokens: int
    tokenizer: str
    fallback: bool = False
    data: Content[Any] = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Content[Any] = None
    created_at: datetime | None = None
    metadata: Content[JsonObject | None] = None
    facts: ContentFacts = NO_FACTS
    persisted_at: datetime | None = None
    extracted: bool = False
    listed: KnownToWriter | None = None
    past: bool = False

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntryEdited(Payload, frozen=True):
    """A client replaced the text of an entry, which stays in its place. Absent fields are unchanged.

    *reads_as_error* is that of the new text, as in `ContentFacts`.
    """

    type = "entry.edited"
    schema_version = 2
    entry_id: str
    entry_version: int
    content: Content[str]
    tokens: int
    tokens_before: int
    tokenizer: str
    fallback: bool = False
    role: str | None = None
    reads_as_error: bool = False

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntryRemoved(Payload, frozen=True):
    """A client removed an entry from the window, and with it *tokens*."""

    type = "entry.removed"
    entry_id: str
    entry_version: int
    tokens: int

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntriesExtracted(Payload, frozen=True):
    """Memories were extracted from the entries at the versions *covered*; there may be no records."""

    type = "entries.extracted"
    covered: Ranges
    strategy: str
    record_ids: tuple[str, ...] = ()
    model: str | None = None
    outputs: tuple[ModelOutput, ...] = ()


class EntriesIndexed(Payload, frozen=True):
    """Each entry at the versions *covered* became a record, with the id of the entry if no other session took it."""

    type = "entries.indexed"
    covered: Ranges
