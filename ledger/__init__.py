"""Memory Ledger: the event-sourced memory of AI agents.

Nothing is overwritten: every message, compaction and clear is an event in an append-only log. What a model is
shown is computed from this log.
"""

from importlib import import_module

from ledger.release import RELEASE

TYPE_CHECKING = False  # `typing` takes as long to import as Python takes to start
if TYPE_CHECKING:
    from ledger.errors import (
        Busy,
        CompactionInProgress,
        CompactionNotCompleted,
        CompactionUnderWay,
        Conflict,
        DatabaseRefused,
        DatabaseUnavailable,
        DuplicateEntry,
        EmbedderFailed,
        EntryCovered,
        EntryNotFound,
        IdempotencyMismatch,
        ImportRefused,
        IndexBehind,
        InvalidInput,
        LedgerError,
        LogCorrupted,
        LogRolledBack,
        MigrationNeeded,
        NamespaceExists,
        NotAllowed,
        NotAuthenticated,
        NotEnoughEntries,
        NotFound,
        NothingGained,
        NotPermitted,
        PreconditionFailed,
        RateLimited,
        ReadOnlyDatabase,
        RebuildNotCompleted,
        RecordNotFound,
        SessionExists,
        SessionNotFound,
        SeveralSessions,
        StorageFull,
        StreamClosed,
        StreamNameMismatch,
        SummarizerFailed,
        SummaryMissing,
        TookTooLong,
        Unavailable,
        UnknownConfig,
        UnknownEvent,
        Unreadable,
        UnsafeDatabase,
        UnsafeRole,
        VersionConflict,
        VersionNotFound,
    )
    from ledger.events import RecordedEvent
    from ledger.events.ids import Stream
    from ledger.indexes.stored_projections.staleness import StaleAnswer
    from ledger.llm.embedders.local import LocalEmbedder
    from ledger.llm.embedders.openai_embedder import OpenAIEmbedder
    from ledger.llm.summarizers.openai_summarizer import OpenAISummarizer
    from ledger.llm.tokenizers import tool_tokens
    from ledger.memory import MemoryLedger
    from ledger.ports.language_models import Embedder, Summarizer, SummaryText
    from ledger.stores.in_memory import InMemoryStore
    from ledger.sync import SyncMemoryLedger
    from projections.memory_config.config import MemoryConfig

__version__ = RELEASE

__all__ = [
    "Busy",
    "CompactionInProgress",
    "CompactionNotCompleted",
    "CompactionUnderWay",
    "Conflict",
    "DatabaseRefused",
    "DatabaseUnavailable",
    "DuplicateEntry",
    "Embedder",
    "EmbedderFailed",
    "EntryCovered",
    "EntryNotFound",
    "IdempotencyMismatch",
    "ImportRefused",
    "InMemoryStore",
    "IndexBehind",
    "InvalidInput",
    "LedgerError",
    "LocalEmbedder",
    "LogCorrupted",
    "LogRolledBack",
    "MemoryConfig",
    "MemoryLedger",
    "MigrationNeeded",
    "NamespaceExists",
    "NotAllowed",
    "NotAuthenticated",
    "NotEnoughEntries",
    "NotFound",
    "NotPermitted",
    "NothingGained",
    "OpenAIEmbedder",
    "OpenAISummarizer",
    "PreconditionFailed",
    "RateLimited",
    "ReadOnlyDatabase",
    "RebuildNotCompleted",
    "RecordNotFound",
    "RecordedEvent",
    "SessionExists",
    "SessionNotFound",
    "SeveralSessions",
    "StaleAnswer",
    "StorageFull",
    "Stream",
    "StreamClosed",
    "StreamNameMismatch",
    "Summarizer",
    "SummarizerFailed",
    "SummaryMissing",
    "SummaryText",
    "SyncMemoryLedger",
    "TookTooLong",
    "Unavailable",
    "UnknownConfig",
    "UnknownEvent",
    "Unreadable",
    "UnsafeDatabase",
    "UnsafeRole",
    "VersionConflict",
    "VersionNotFound",
    "tool_tokens",
]

#: Loaded on first use, so that importing `ledger` is quick; importing `projections` runs this file too.
_MODULES = dict.fromkeys(__all__, "ledger.errors") | {
    "Embedder": "ledger.ports.language_models",
    "InMemoryStore": "ledger.stores.in_memory",
    "LocalEmbedder": "ledger.llm.embedders.local",
    "MemoryConfig": "projections.memory_config.config",
    "MemoryLedger": "ledger.memory",
    "OpenAIEmbedder": "ledger.llm.embedders.openai_embedder",
    "OpenAISummarizer": "ledger.llm.summarizers.openai_summarizer",
    "RecordedEvent": "ledger.events",
    "StaleAnswer": "ledger.indexes.stored_projections.staleness",
    "Stream": "ledger.events.ids",
    "Summarizer": "ledger.ports.language_models",
    "SummaryText": "ledger.ports.language_models",
    "SyncMemoryLedger": "ledger.sync",
    "tool_tokens": "ledger.llm.tokenizers",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'ledger' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
