"""What the core needs from the world, as protocols of a few methods, and the shapes that pass through them.

    log       streams of events                          search    texts, and what embeds them
    indexes   snapshots, builds, the index of sessions   jobs      background work
    serving   sessions by id alone, views served         records   long-term memory
    store     all of these      models    tokenizers and summarizers      clock    time and ids

Two stores implement them and share one conformance suite (`tests/conformance`); `ledger.stores.in_memory` is the one
to read.
"""

from ledger.ports.clock import Clock
from ledger.ports.log import (
    Appended,
    Appender,
    AppendRequest,
    EarlierRequest,
    NamespaceInfo,
    NamespaceReader,
    Receipt,
    StreamHead,
    StreamReader,
    StreamWrite,
)
from ledger.ports.models import Count, Countable, Summarizer, SummaryText, Tokenizer
from ledger.ports.store import Store

__all__ = [
    "AppendRequest",
    "Appended",
    "Appender",
    "Clock",
    "Count",
    "Countable",
    "EarlierRequest",
    "NamespaceInfo",
    "NamespaceReader",
    "Receipt",
    "Store",
    "StreamHead",
    "StreamReader",
    "StreamWrite",
    "Summarizer",
    "SummaryText",
    "Tokenizer",
]
