"""What the methods of `MemoryLedger` take and return."""

from ledger.results.call_arguments import (
    ConfigLike,
    EntryFields,
    Guard,
    Notification,
    Point,
    Precondition,
    Rendering,
    SessionWrite,
    When,
)
from ledger.results.call_results import (
    Added,
    AddedEntry,
    Configured,
    Forked,
    ImportedState,
    KeptBatch,
    KeptValue,
    PatchedData,
    Popped,
    PutResult,
    RebuildProgress,
    Version,
    WhatIf,
)
from ledger.results.context import (
    Context,
    RecordedContext,
)

__all__ = [
    "Added",
    "AddedEntry",
    "ConfigLike",
    "Configured",
    "Context",
    "EntryFields",
    "Forked",
    "Guard",
    "ImportedState",
    "KeptBatch",
    "KeptValue",
    "Notification",
    "PatchedData",
    "Point",
    "Popped",
    "Precondition",
    "PutResult",
    "RebuildProgress",
    "RecordedContext",
    "Rendering",
    "SessionWrite",
    "Version",
    "WhatIf",
    "When",
]
