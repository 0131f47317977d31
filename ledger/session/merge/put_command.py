"""The command of a PUT: ours, the evidence of what the writer had seen, and what else the merge needs."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from ledger.events import (
    EntryAdded,
    Extraction,
    JsonObject,
    KnownToWriter,
    MemoryAdded,
    MemoryFields,
    Ranges,
    SessionOpened,
)
from ledger.session.state import SessionState
from projections.memory_config.config import MemoryConfig
from projections.working_memory import ServedView

#: What makes two items equal: role and content of a message, text and type of a memory.
ItemValue: TypeAlias = tuple[str, str]


class BodyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the body; without *id* it is matched by its value, or gets a new id."""

    role: str
    content: str
    id: str | None = None
    created_at: datetime | None = None
    persisted_at: datetime | None = None
    extracted: bool = False

    @property
    def value(self) -> ItemValue:
        """Role and content."""
        return self.role, self.content


class BodyMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of the body; *sent* are the names of its fields, absent fields keep their value (http W-29)."""

    fields: MemoryFields
    id: str | None = None
    sent: frozenset[str] = frozenset()
    persisted_at: datetime | None = None

    @property
    def value(self) -> ItemValue:
        """Text and type."""
        return self.fields.text, self.fields.memory_type


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A whole body. Lists, data and context are empty if absent or null; *ttl_sent* tells null from absent."""

    messages: tuple[BodyMessage, ...] = ()
    memories: tuple[BodyMemory, ...] = ()
    data: JsonObject = msgspec.field(default_factory=dict)
    context: str = ""
    tokens: int = 0
    extraction: Extraction | None = None
    ttl_seconds: int | None = None
    ttl_sent: bool = False

    @property
    def ids(self) -> list[str]:
        """The ids of those messages and memories that have one."""
        items: tuple[BodyMessage | BodyMemory, ...] = (*self.messages, *self.memories)
        return [item.id for item in items if item.id]

    @property
    def ids_needed(self) -> int:
        """How many new ids a merge needs at most: for each item without an id, and for a summary."""
        return len(self.messages) + len(self.memories) - len(self.ids) + 1


class IfMatch(msgspec.Struct, frozen=True):
    """The writer had seen the current version: the body replaces everything but what its view *omitted*."""

    omitted: Ranges = ()


class ThreeWay(msgspec.Struct, frozen=True):
    """The body carries the stamp of a version: its writer had seen the state *base*."""

    base: SessionState


class Blind(msgspec.Struct, frozen=True):
    """Nothing proves what the writer had seen."""


#: What is known about what the writer of a body had seen (http W-52).
Evidence: TypeAlias = IfMatch | ThreeWay | Blind

ItemStatus: TypeAlias = Literal["active", "covered", "removed", "cleared"]


class StoredItem(msgspec.Struct, frozen=True):
    """A message or memory that the session has (``active``), or the newest it had under an id.

    *write_id* is the write that added it, *listed* what the body of that write listed, *earlier* its earlier values:
    for an active item only if they were looked up.
    """

    version: int
    item_id: str
    write_id: str
    value: ItemValue
    listed: KnownToWriter | None = None
    earlier: tuple[ItemValue, ...] = ()
    status: ItemStatus = "active"
    #: The event that would bring back an item which is not active, with its time and flags.
    event: EntryAdded | MemoryAdded | None = None


class PriorItems(msgspec.Struct, frozen=True):
    """Messages and memories of the log by id; see `ids_to_look_up`."""

    messages: Mapping[str, StoredItem] = {}
    memories: Mapping[str, StoredItem] = {}


class TokenCount(msgspec.Struct, frozen=True):
    """How many tokens a text has, and by which tokenizer."""

    tokens: int
    tokenizer: str
    fallback: bool = False


class ReturningMessage(msgspec.Struct, frozen=True):
    """The batch in which a message comes back, its tokens, which are never counted again, and its marks."""

    write_id: str
    count: TokenCount
    extracted: bool = False
    persisted_at: datetime | None = None


class PutSession(msgspec.Struct, frozen=True, kw_only=True):
    """Make the session what *body* says, as far as *evidence* proves that the writer knew what it changes.

    *count* is a pure function: the tokens of a text with a role or, without role, of a summary. *new_ids* are given
    to items without an id, in order; `Body.ids_needed` is how many are needed. *opening* starts a life if there is
    none, *restoring* continues one that has expired. *config* is the new memory config, used if messages change.
    *returning* are messages that come back as they were, by their ids. *check_system* refuses a writer who may not
    add or change messages of the system; it is called only for those.
    """

    write_id: str
    body: Body
    evidence: Evidence
    count: Callable[[str | None, str], TokenCount]
    new_ids: tuple[str, ...]
    prior: PriorItems = PriorItems()
    views: tuple[ServedView, ...] = ()
    opening: SessionOpened | None = None
    restoring: bool = False
    config: MemoryConfig | None = None
    returning: Mapping[str, ReturningMessage] = {}
    check_system: Callable[[], None] = lambda: None

    def count_of(self, message_id: str | None, role: str, content: str) -> TokenCount:
        """Return the tokens of a message: those that it had if it comes back."""
        returning = self.returning.get(message_id or "")
        return returning.count if returning else self.count(role, content)
