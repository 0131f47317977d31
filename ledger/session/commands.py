"""What can be asked of a session. Ids and times are made by the caller, so that deciding stays pure."""

from datetime import datetime
from typing import TypeAlias

import msgspec

from ledger.errors import FailureReason
from ledger.events import (
    ContextRendered,
    EntriesExtracted,
    EntriesIndexed,
    EntryAdded,
    Extraction,
    ForkedFrom,
    ImportedFrom,
    JsonObject,
    MemoryPromoted,
    Method,
    ModelOutput,
    Pass,
    PlannedCall,
)
from ledger.session.merge.command import PutSession
from projections.config import MemoryConfig
from projections.entries import Entry
from projections.strategies.base import CompactionPlan


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a life of the session, unless it is open."""

    write_id: str
    namespace: str
    user_id: str
    session_id: str
    config: MemoryConfig
    imported_from: ImportedFrom | None = None
    forked_from: ForkedFrom | None = None
    #: Begin another life although one is open: it has expired, which the state does not know.
    anew: bool = False


class AddEntries(msgspec.Struct, frozen=True):
    """Add a batch; *known* are entries that already exist under one of its ids, found by the shell."""

    entries: tuple[EntryAdded, ...]
    known: tuple[Entry, ...] = ()


class EditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the text (and perhaps the role) of an active entry."""

    write_id: str
    entry_id: str
    content: str
    tokens: int
    tokenizer: str
    fallback: bool = False
    role: str | None = None


class RemoveEntry(msgspec.Struct, frozen=True):
    """Withdraw an active entry."""

    write_id: str
    entry_id: str


class ClearSession(msgspec.Struct, frozen=True):
    """Empty window and summaries; *end* also ends the life of the session."""

    write_id: str
    end: bool = False


class ChangeConfig(msgspec.Struct, frozen=True):
    """Put another memory config in place of the current one, and what is given beside it; the rest stays."""

    write_id: str
    config: MemoryConfig | None = None
    extraction: Extraction | None = None
    tokens: int | None = None


class RestoreSession(msgspec.Struct, frozen=True):
    """Go on with a session that has expired."""

    write_id: str


class ChangeData(msgspec.Struct, frozen=True):
    """Change the session's own JSON object; keys that are set already, or not there, change nothing.

    *begins* tells that it is the first of another life, which has none.
    """

    write_id: str
    set: JsonObject
    removed: tuple[str, ...] = ()
    begins: bool = False


class SetExpiry(msgspec.Struct, frozen=True):
    """Let the session expire so long after its last write by a client, or never."""

    write_id: str
    ttl_seconds: int | None


class MarkExtracted(msgspec.Struct, frozen=True):
    """Record that memories were made of entries, unless the life they were read in has ended, or was cleared since."""

    extracted: EntriesExtracted
    life: int
    cleared_version: int


class MarkIndexed(msgspec.Struct, frozen=True):
    """Record that entries became records of their own, in the life they were read in."""

    indexed: EntriesIndexed
    life: int


class PromoteMemory(msgspec.Struct, frozen=True):
    """Record that a memory became a record, in the life it was read in."""

    promoted: MemoryPromoted
    life: int


class RequestCompaction(msgspec.Struct, frozen=True):
    """Record that a plan will be carried out."""

    write_id: str
    compaction_id: str
    plan: CompactionPlan
    calls: tuple[PlannedCall, ...] = ()


class SummaryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a summarizer gave for a compaction, checked and counted; no text if nothing was left to say."""

    summary_id: str | None
    text: str = ""
    tokens: int = 0
    tokenizer: str = ""
    fallback: bool = False
    method: Method | None = None
    model: str | None = None
    outputs: tuple[ModelOutput, ...] = ()
    trust: str | None = None
    error: str | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    first_id: str | None = None
    last_id: str | None = None
    passes: tuple[Pass, ...] = ()
    ended: str | None = None


class CompleteCompaction(msgspec.Struct, frozen=True):
    """Put the summary in place of what it covers, if that is still as it was."""

    write_id: str
    compaction_id: str
    outcome: SummaryOutcome


class FailCompaction(msgspec.Struct, frozen=True):
    """Record that a compaction gave nothing usable."""

    write_id: str
    compaction_id: str
    reason: FailureReason
    detail: str = ""


class ImportedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary from an exported state; *entries* are indexes into the imported entries.

    Without text it stands for entries that had left the window unsummarised.
    """

    compaction_id: str
    entries: tuple[int, ...]
    hides: bool
    summary_id: str | None = None
    key: str = "imported"
    text: str = ""
    tokens: int = 0
    tokens_before: int = 0
    tokenizer: str = ""
    created_at: datetime | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None


class ReplaceState(msgspec.Struct, frozen=True):
    """Put an exported state in place of the current one (R-000-15)."""

    write_id: str
    entries: tuple[EntryAdded, ...]
    summaries: tuple[ImportedSummary, ...]


class RecordContext(msgspec.Struct, frozen=True):
    """Record what a model was handed; the state it was rendered from may be an older one."""

    rendered: ContextRendered


Command: TypeAlias = (
    OpenSession
    | AddEntries
    | EditEntry
    | RemoveEntry
    | ClearSession
    | ChangeConfig
    | RequestCompaction
    | CompleteCompaction
    | FailCompaction
    | ReplaceState
    | RecordContext
    | RestoreSession
    | ChangeData
    | SetExpiry
    | MarkExtracted
    | MarkIndexed
    | PromoteMemory
    | PutSession
)
