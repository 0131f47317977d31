"""The closed union of payloads, and their type names."""

from typing import TypeAlias

from ledger.events.compaction_events import (
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ContextSet,
)
from ledger.events.context_events import ContextRendered
from ledger.events.entry_events import EntriesExtracted, EntriesIndexed, EntryAdded, EntryEdited, EntryRemoved
from ledger.events.key_value_events import KeptRemoved, KeptSet
from ledger.events.memory_events import MemoryAdded, MemoryEdited, MemoryPromoted, MemoryRemoved
from ledger.events.rebuild_events import (
    EntriesReturned,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
)
from ledger.events.record_events import RecordCreated, RecordDeleted, RecordEdited, RecordMerged, RecordRestored
from ledger.events.session_events import (
    ConfigChanged,
    DataChanged,
    ExpirySet,
    SessionCleared,
    SessionOpened,
    SessionRestored,
)
from ledger.events.summary_view_events import (
    SummaryViewCreated,
    SummaryViewDeleted,
    SummaryViewPartitionSummarized,
    SummaryViewRunCompleted,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
)
from ledger.events.token_events import TokenCreated, TokenRevoked

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
