"""The commands of a session. The caller creates ids and times, so that deciding stays pure."""

from datetime import datetime
from typing import TypeAlias

import msgspec

from ledger.errors import FailureReason
from ledger.events import (
    Block,
    CompactionCompleted,
    ContextRendered,
    Continuation,
    EntriesExtracted,
    EntriesIndexed,
    EntryAdded,
    EntryRemoved,
    Extraction,
    ForkedFrom,
    ImportedFrom,
    JsonObject,
    KeptRemoved,
    KeptSet,
    MemoryPromoted,
    Method,
    ModelOutput,
    Pass,
    PlannedCall,
)
from ledger.session.merge.put_command import PutSession
from ledger.session.rebuild_commands import AnswerRebuild, CompleteRebuild, FailRebuild, RequestRebuild
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.memory_config.config import MemoryConfig
from projections.strategies.base import CompactionPlan


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """Start a life of the session, unless it is open."""

    write_id: str
    namespace: str
    user_id: str
    session_id: str
    config: MemoryConfig
    imported_from: ImportedFrom | None = None
    forked_from: ForkedFrom | None = None
    #: Start another life although one is open: it has expired, which the state does not know.
    anew: bool = False


class AddEntries(msgspec.Struct, frozen=True):
    """Add a batch; *known* are the entries, looked up by the caller, that have one of its ids already."""

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
    """Remove an active entry, or *compacted*, which a compaction took out of the window."""

    write_id: str
    entry_id: str
    compacted: Entry | None = None


class ClearSession(msgspec.Struct, frozen=True):
    """Empty window and summaries; *end* also ends the life of the session."""

    write_id: str
    end: bool = False


class ChangeConfig(msgspec.Struct, frozen=True):
    """Replace the memory config, and the other fields that are given; the rest stays."""

    write_id: str
    config: MemoryConfig | None = None
    extraction: Extraction | None = None
    tokens: int | None = None


class RestoreSession(msgspec.Struct, frozen=True):
    """Continue a session that has expired."""

    write_id: str


class ChangeData(msgspec.Struct, frozen=True):
    """Change the session data; setting an equal value and removing an absent key change nothing.

    With *begins*, a new life starts, whose data is empty.
    """

    write_id: str
    set: JsonObject
    removed: tuple[str, ...] = ()
    begins: bool = False


class SetExpiry(msgspec.Struct, frozen=True):
    """Let the session expire *ttl_seconds* after the last write by a client, or never."""

    write_id: str
    ttl_seconds: int | None


class MarkExtracted(msgspec.Struct, frozen=True):
    """Record that memories were extracted from entries, unless their life has ended or was cleared since."""

    extracted: EntriesExtracted
    life: int
    cleared_version: int


class MarkIndexed(msgspec.Struct, frozen=True):
    """Record that entries became records, unless the life they were read in has ended."""

    indexed: EntriesIndexed
    life: int


class PromoteMemory(msgspec.Struct, frozen=True):
    """Record that a memory became a record, unless the life it was read in has ended."""

    promoted: MemoryPromoted
    life: int


class RequestCompaction(msgspec.Struct, frozen=True):
    """Record that a plan will be carried out."""

    write_id: str
    compaction_id: str
    plan: CompactionPlan
    calls: tuple[PlannedCall, ...] = ()


class SummaryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a summarizer, checked and counted; without text if there was nothing left to summarise."""

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
    """Replace what a summary covers by the summary, if it has not changed since."""

    write_id: str
    compaction_id: str
    outcome: SummaryOutcome


class FailCompaction(msgspec.Struct, frozen=True):
    """Record that a compaction gave no usable summary."""

    write_id: str
    compaction_id: str
    reason: FailureReason
    detail: str = ""


#: The key of an imported summary that names none.
IMPORTED = "imported"


class ImportedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary from an exported state; *entries* are indexes into the imported entries.

    Without text it stands for entries that had left the window and that no live summary covers: *erases* if a strategy
    erased them, or else their summary is gone.
    """

    compaction_id: str
    entries: tuple[int, ...]
    hides: bool
    erases: bool = False
    summary_id: str | None = None
    key: str = IMPORTED
    text: str = ""
    tokens: int = 0
    tokens_before: int = 0
    tokenizer: str = ""
    created_at: datetime | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    block: Block | None = None
    #: Before which entry it is shown, as an index, if not before the first that it covers.
    place: int | None = None
    model: str | None = None
    trust: str | None = None


class ReplaceState(msgspec.Struct, frozen=True):
    """Replace the state by an exported one (R-000-15); *continuation* numbers the entries from 1.

    *versions* are those that the entries have in this log, if they are of it.
    """

    write_id: str
    entries: tuple[EntryAdded, ...]
    summaries: tuple[ImportedSummary, ...]
    continuation: Continuation | None = None
    versions: tuple[int, ...] = ()


class RestoreState(msgspec.Struct, frozen=True):
    """Make messages and fields what *put* says, and config, summaries and what was counted what they were.

    *anew* are all entries of then, if other ones have left the window since: they are added again, also those that
    compactions had covered, so that searches find what they found.
    """

    put: PutSession
    past: SessionState
    anew: ReplaceState | None = None


class Keep(msgspec.Struct, frozen=True):
    """Store values beside the window, and hide others."""

    events: tuple[KeptSet | KeptRemoved, ...]


class HideAdded(msgspec.Struct, frozen=True):
    """Take entries out of the window that the same write adds, at the versions in the events."""

    removed: tuple[EntryRemoved, ...]


class FollowAgent(msgspec.Struct, frozen=True):
    """Take entries out of the window that an agent left out, perhaps for a summary, at the versions in the events."""

    events: tuple[CompactionCompleted, ...]


class RecordContext(msgspec.Struct, frozen=True):
    """Record what a model was shown; it may have been rendered from an older state."""

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
    | RestoreState
    | RequestRebuild
    | AnswerRebuild
    | FailRebuild
    | CompleteRebuild
    | RecordContext
    | Keep
    | HideAdded
    | FollowAgent
    | RestoreSession
    | ChangeData
    | SetExpiry
    | MarkExtracted
    | MarkIndexed
    | PromoteMemory
    | PutSession
)
