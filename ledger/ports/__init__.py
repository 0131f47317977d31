"""What the core needs from the world, as protocols, and the shapes that pass through them.

    event_store         streams of events: append, read, find
    snapshots           states at a version
    stored_projections  builds of stored projections and their progress
    session_index       listings of sessions
    search_index        words and embeddings of sessions
    records             long-term memory
    jobs                background work
    served_views        views that a service has served
    tokens              API tokens of a service
    store               everything that one database stores
    models              tokenizers, summarizers and embedders
    clock               time and ids

Two stores implement them and share one conformance suite (`tests/conformance`). Read `ledger.stores.in_memory` to
learn what they do.
"""

from ledger.ports.all_stores import Store, with_events
from ledger.ports.append_request import Appended, Appender, AppendRequest, EarlierRequest, Receipt, StreamWrite
from ledger.ports.clocks import Clock
from ledger.ports.event_store import EventStore, NamespaceInfo, StreamHead
from ledger.ports.language_models import Count, Countable, Embedder, Summarizer, SummaryText, Tokenizer

__all__ = [
    "AppendRequest",
    "Appended",
    "Appender",
    "Clock",
    "Count",
    "Countable",
    "EarlierRequest",
    "Embedder",
    "EventStore",
    "NamespaceInfo",
    "Receipt",
    "Store",
    "StreamHead",
    "StreamWrite",
    "Summarizer",
    "SummaryText",
    "Tokenizer",
    "with_events",
]
