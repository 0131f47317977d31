"""Every error that a caller can get, each with a stable ``code`` and a message that says what to do.

No message repeats the refused value, because messages end in logs.

    LedgerError
    ├── InvalidInput            the request is wrong; change it
    │   └── IdempotencyMismatch, ImportRefused
    ├── NotAllowed              the database login, or the caller of the service, may not do this
    │   └── UnsafeRole, NotAuthenticated, NotPermitted
    ├── NotFound                what was asked for does not exist
    │   └── SessionNotFound, VersionNotFound, EntryNotFound, RecordNotFound, SummaryMissing
    ├── Conflict                the state does not allow it, or another writer was first; read and decide again
    │   └── VersionConflict, PreconditionFailed, SeveralSessions, DuplicateEntry, EntryCovered, SessionExists,
    │       NamespaceExists, StreamClosed, StreamNameMismatch, CompactionInProgress, NotEnoughEntries, NothingGained
    └── Unavailable             the request is right; repair the cause, then try again
        ├── DatabaseUnavailable (and DatabaseRefused, ReadOnlyDatabase), StorageFull, RateLimited (and Busy),
        │   TookTooLong, UnsafeDatabase, MigrationNeeded, CompactionNotCompleted, CompactionUnderWay,
        │   RebuildNotCompleted,
        │   SummarizerFailed, EmbedderFailed, IndexBehind, LogRolledBack
        └── Unreadable          a session is stored, but this release cannot fold it
            └── UnknownEvent, UnknownConfig, LogCorrupted
"""

from ledger.errors.conflicts import (
    CompactionInProgress,
    Conflict,
    DuplicateEntry,
    EntryCovered,
    NamespaceExists,
    NotEnoughEntries,
    NothingGained,
    PreconditionFailed,
    SessionExists,
    SeveralSessions,
    StreamClosed,
    StreamNameMismatch,
    VersionConflict,
)
from ledger.errors.unavailable import (
    Busy,
    CompactionNotCompleted,
    CompactionUnderWay,
    DatabaseRefused,
    DatabaseUnavailable,
    EmbedderFailed,
    FailureReason,
    IndexBehind,
    LogCorrupted,
    LogRolledBack,
    MigrationNeeded,
    RateLimited,
    ReadOnlyDatabase,
    RebuildNotCompleted,
    StorageFull,
    SummarizerFailed,
    TookTooLong,
    Unavailable,
    UnknownConfig,
    UnknownEvent,
    Unreadable,
    UnsafeDatabase,
)
from ledger.errors.wrong_requests import (
    EntryNotFound,
    IdempotencyMismatch,
    ImportRefused,
    InvalidInput,
    LedgerError,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    NotPermitted,
    RecordNotFound,
    SessionNotFound,
    SummaryMissing,
    UnsafeRole,
    VersionNotFound,
)

__all__ = [
    "Busy",
    "CompactionInProgress",
    "CompactionNotCompleted",
    "CompactionUnderWay",
    "Conflict",
    "DatabaseRefused",
    "DatabaseUnavailable",
    "DuplicateEntry",
    "EmbedderFailed",
    "EntryCovered",
    "EntryNotFound",
    "FailureReason",
    "IdempotencyMismatch",
    "ImportRefused",
    "IndexBehind",
    "InvalidInput",
    "LedgerError",
    "LogCorrupted",
    "LogRolledBack",
    "MigrationNeeded",
    "NamespaceExists",
    "NotAllowed",
    "NotAuthenticated",
    "NotEnoughEntries",
    "NotFound",
    "NotPermitted",
    "NothingGained",
    "PreconditionFailed",
    "RateLimited",
    "ReadOnlyDatabase",
    "RebuildNotCompleted",
    "RecordNotFound",
    "SessionExists",
    "SessionNotFound",
    "SeveralSessions",
    "StorageFull",
    "StreamClosed",
    "StreamNameMismatch",
    "SummarizerFailed",
    "SummaryMissing",
    "TookTooLong",
    "Unavailable",
    "UnknownConfig",
    "UnknownEvent",
    "Unreadable",
    "UnsafeDatabase",
    "UnsafeRole",
    "VersionConflict",
    "VersionNotFound",
]
