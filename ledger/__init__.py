"""Memory Ledger: the event-sourced memory of AI agents.

Nothing is overwritten: every message, compaction and clear is an event in an append-only log; what a model is
shown is a fold over it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ledger.errors import (
    Conflict,
    InvalidInput,
    LedgerError,
    NotAllowed,
    NotFound,
    Unavailable,
)
from ledger.events import RecordedEvent
from ledger.ids import Stream

if TYPE_CHECKING:
    from ledger.memory import MemoryLedger
    from ledger.stores.in_memory import InMemoryStore
    from ledger.summarizers.openai import OpenAISummarizer
    from ledger.sync import SyncMemoryLedger
    from projections.config import MemoryConfig

__version__ = "0.1.0"

__all__ = [
    "Conflict",
    "InMemoryStore",
    "InvalidInput",
    "LedgerError",
    "MemoryConfig",
    "MemoryLedger",
    "NotAllowed",
    "NotFound",
    "OpenAISummarizer",
    "RecordedEvent",
    "Stream",
    "SyncMemoryLedger",
    "Unavailable",
]

#: Loaded on first use: what lies below (`projections`) imports `ledger.events`, and so runs this file.
_LATER = {
    "InMemoryStore": "ledger.stores.in_memory",
    "MemoryConfig": "projections.config",
    "MemoryLedger": "ledger.memory",
    "OpenAISummarizer": "ledger.summarizers.openai",
    "SyncMemoryLedger": "ledger.sync",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ledger' has no attribute {name!r}")
