"""The in-memory store: for tests and for trying things out."""

from uuid import UUID

from ledger.events.clock import SystemClock
from ledger.ports.clocks import Clock
from ledger.ports.derived_rows import DerivedRows
from ledger.ports.event_store import EventStore
from ledger.ports.job_queue import JobStore
from ledger.ports.projection_store import ProjectionStore
from ledger.ports.record_store import RecordStore
from ledger.ports.search_index import SearchIndexStore
from ledger.ports.served_views import ServedViewStore
from ledger.ports.session_index import SessionIndexStore
from ledger.ports.snapshot_store import SnapshotStore
from ledger.ports.token_store import TokenStore
from ledger.stores.in_memory.derived_rows import InMemoryDerivedRows
from ledger.stores.in_memory.event_store import InMemoryEventStore
from ledger.stores.in_memory.job_queue import InMemoryJobs
from ledger.stores.in_memory.namespace_rows import StoredNamespace
from ledger.stores.in_memory.projection_store import InMemoryProjections
from ledger.stores.in_memory.record_store import InMemoryRecords
from ledger.stores.in_memory.search_index import InMemorySearchIndex
from ledger.stores.in_memory.served_views import InMemoryServedViews
from ledger.stores.in_memory.session_index import InMemorySessionIndex
from ledger.stores.in_memory.snapshot_store import InMemorySnapshots
from ledger.stores.in_memory.token_store import NoTokens

__all__ = ["InMemoryStore"]


class InMemoryStore:
    """A `Store` that lasts as long as its process."""

    def __init__(self, clock: Clock | None = None) -> None:
        namespaces: dict[UUID, StoredNamespace] = {}
        time = clock or SystemClock()
        self.events: EventStore = InMemoryEventStore(namespaces, time)
        self.snapshots: SnapshotStore = InMemorySnapshots(namespaces, self.events)
        self.projections: ProjectionStore = InMemoryProjections(namespaces, time)
        self.session_index: SessionIndexStore = InMemorySessionIndex(namespaces, time)
        self.search: SearchIndexStore = InMemorySearchIndex(namespaces, time)
        self.records: RecordStore = InMemoryRecords(namespaces, time)
        self.jobs: JobStore = InMemoryJobs(namespaces, time)
        self.served_views: ServedViewStore = InMemoryServedViews(namespaces)
        self.tokens: TokenStore = NoTokens()
        self.derived: DerivedRows = InMemoryDerivedRows()

    async def close(self) -> None:
        """See `ports.Store.close`."""
