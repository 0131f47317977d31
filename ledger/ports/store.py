"""A store as a whole: each of its ports in a file of its own beside this one."""

from typing import Protocol

from ledger.ports.indexes import CheckpointStore, SessionIndexStore, SnapshotStore
from ledger.ports.jobs import JobStore
from ledger.ports.log import Appender, NamespaceReader, RequestFinder, StreamLocator, StreamReader
from ledger.ports.records import RecordStore
from ledger.ports.search import EmbeddingStore, SearchStore
from ledger.ports.serving import ServedViews, SessionFinder


class Store(
    Appender,
    RequestFinder,
    StreamReader,
    StreamLocator,
    NamespaceReader,
    SnapshotStore,
    CheckpointStore,
    SessionIndexStore,
    SearchStore,
    EmbeddingStore,
    SessionFinder,
    ServedViews,
    JobStore,
    RecordStore,
    Protocol,
):
    """Everything a ledger keeps."""

    async def close(self) -> None:
        """Let go of connections; appends under way finish first."""
        ...
