"""Memory Ledger: the event-sourced memory of AI agents.

Nothing is overwritten: every message, compaction and clear is an event in an append-only log. What a model is
shown is computed from this log.
"""

from importlib import import_module

TYPE_CHECKING = False  # `typing` takes as long to import as Python takes to start
if TYPE_CHECKING:
    from ledger.errors import Conflict, InvalidInput, LedgerError, NotAllowed, NotFound, Unavailable
    from ledger.events import RecordedEvent
    from ledger.ids import Stream
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

#: Loaded on first use, so that importing `ledger` is quick; importing `projections` runs this file too.
_MODULES = {
    "Conflict": "ledger.errors",
    "InMemoryStore": "ledger.stores.in_memory",
    "InvalidInput": "ledger.errors",
    "LedgerError": "ledger.errors",
    "MemoryConfig": "projections.config",
    "MemoryLedger": "ledger.memory",
    "NotAllowed": "ledger.errors",
    "NotFound": "ledger.errors",
    "OpenAISummarizer": "ledger.summarizers.openai",
    "RecordedEvent": "ledger.events",
    "Stream": "ledger.ids",
    "SyncMemoryLedger": "ledger.sync",
    "Unavailable": "ledger.errors",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'ledger' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
