"""The closed union of payloads, and their type names."""

from typing import TypeAlias

from ledger.events.access import TokenCreated, TokenRevoked
from ledger.events.compactions import (
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ContextSet,
)
from ledger.events.contexts import ContextRendered
from ledger.events.entries import EntriesExtracted, EntriesIndexed, EntryAdded, EntryEdited, EntryRemoved
from ledger.events.kept import KeptRemoved, KeptSet
from ledger.events.memories import MemoryAdded, MemoryEdited, MemoryPromoted, MemoryRemoved
from ledger.events.rebuilds import (
    EntriesReturned,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
)
from ledger.events.records import RecordCreated, RecordDeleted, RecordEdited, RecordMerged, RecordRestored
from ledger.events.session import (
    ConfigChanged,
    DataChanged,
    ExpirySet,
    SessionCleared,
    SessionOpened,
    SessionRestored,
)
from ledger.events.summary_views import (
    SummaryViewCreated,
    SummaryViewDeleted,
    SummaryViewPartitionSummarized,
    SummaryViewRunCompleted,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
)

#: The events of long-term memory, on streams that are not sessions.
RecordEvent: TypeAlias = RecordCreated | RecordEdited | RecordMerged | RecordDeleted | RecordRestored

#: The events of API tokens, on the stream `/access` of the whole ledger.
AccessEvent: TypeAlias = TokenCreated | TokenRevoked
#: The events of summary views, on streams that are not sessions.
SummaryViewEvent: TypeAlias = (
    SummaryViewCreated
    | SummaryViewDeleted
    | SummaryViewRunRequested
    | SummaryViewRunStarted
    | SummaryViewRunCompleted
    | SummaryViewRunFailed
    | SummaryViewPartitionSummarized
)

Event: TypeAlias = (
    EntryAdded
    | CompactionRequested
    | CompactionCompleted
    | CompactionFailed
    | CompactionDiscarded
    | CompactionContinued
    | RebuildRequested
    | RebuildAnswered
    | RebuildCompleted
    | RebuildFailed
    | EntriesReturned
    | EntryEdited
    | EntryRemoved
    | EntriesExtracted
    | EntriesIndexed
    | SessionOpened
    | SessionCleared
    | SessionRestored
    | ConfigChanged
    | ContextSet
    | DataChanged
    | ExpirySet
    | MemoryAdded
    | MemoryEdited
    | MemoryRemoved
    | MemoryPromoted
    | KeptSet
    | KeptRemoved
    | ContextRendered
    | RecordEvent
    | AccessEvent
    | SummaryViewEvent
)

EVENT_TYPES: dict[str, type[Event]] = {cls.type: cls for cls in Event.__args__}
