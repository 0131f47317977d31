"""The events: one frozen struct for each event type, and the forms of an event on its way.

A writer gives a store a `NewEvent`; the store returns a `StoredEvent` (exact bytes); folds read a `RecordedEvent`
(decoded payload). Type names are literals that never change; a payload that changes gets a new `schema_version` and
a step in `upcasts`.
"""

from ledger.errors import FailureReason
from ledger.events.base import (
    Action,
    DiscardReason,
    Effect,
    JsonObject,
    Kind,
    Method,
    Ranges,
    Role,
    ToolStatus,
    to_datetime,
    to_microseconds,
)
from ledger.events.compactions import (
    Block,
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ContextSet,
    ModelOutput,
    Pass,
    PlannedCall,
)
from ledger.events.contexts import ContextRendered, KnowledgeSource
from ledger.events.entries import EntriesExtracted, EntriesIndexed, EntryAdded, EntryEdited, EntryRemoved, KnownToWriter
from ledger.events.memories import MemoryAdded, MemoryEdited, MemoryFields, MemoryPromoted, MemoryRemoved
from ledger.events.payloads import EVENT_TYPES, Event, RecordEvent
from ledger.events.recorded import NewEvent, OpaqueEvent, RecordedEvent, StoredEvent
from ledger.events.records import RecordCreated, RecordDeleted, RecordEdited, RecordMerged, RecordRestored, RecordSource
from ledger.events.session import (
    LONGEST_TTL_SECONDS,
    ConfigChanged,
    DataChanged,
    ExpirySet,
    Extraction,
    ForkedFrom,
    ImportedFrom,
    SessionCleared,
    SessionOpened,
    SessionRestored,
)

__all__ = [
    "EVENT_TYPES",
    "LONGEST_TTL_SECONDS",
    "Action",
    "Block",
    "CompactionCompleted",
    "CompactionDiscarded",
    "CompactionFailed",
    "CompactionRequested",
    "ConfigChanged",
    "ContextRendered",
    "ContextSet",
    "DataChanged",
    "DiscardReason",
    "Effect",
    "EntriesExtracted",
    "EntriesIndexed",
    "EntryAdded",
    "EntryEdited",
    "EntryRemoved",
    "Event",
    "ExpirySet",
    "Extraction",
    "FailureReason",
    "ForkedFrom",
    "ImportedFrom",
    "JsonObject",
    "Kind",
    "KnowledgeSource",
    "KnownToWriter",
    "MemoryAdded",
    "MemoryEdited",
    "MemoryFields",
    "MemoryPromoted",
    "MemoryRemoved",
    "Method",
    "ModelOutput",
    "NewEvent",
    "OpaqueEvent",
    "Pass",
    "PlannedCall",
    "Ranges",
    "RecordCreated",
    "RecordDeleted",
    "RecordEdited",
    "RecordEvent",
    "RecordMerged",
    "RecordRestored",
    "RecordSource",
    "RecordedEvent",
    "Role",
    "SessionCleared",
    "SessionOpened",
    "SessionRestored",
    "StoredEvent",
    "ToolStatus",
    "to_datetime",
    "to_microseconds",
]
