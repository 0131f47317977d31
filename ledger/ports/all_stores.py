"""A store: all ports of one database."""

from copy import copy
from typing import Protocol, TypeVar, runtime_checkable

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


@runtime_checkable
class Store(Protocol):
    """The event store, and what is derived from it and can be rebuilt or deleted."""

    events: EventStore
    snapshots: SnapshotStore
    projections: ProjectionStore
    session_index: SessionIndexStore
    search: SearchIndexStore
    records: RecordStore
    jobs: JobStore
    served_views: ServedViewStore
    derived: DerivedRows
    tokens: TokenStore

    async def close(self) -> None:
        """Finish the appends in progress, then close the connections."""
        ...


S = TypeVar("S", bound=Store)


def with_events(store: S, events: EventStore) -> S:
    """Return a copy of *store* with *events*, a decorator of its event store, in its place."""
    decorated = copy(store)
    decorated.events = events
    return decorated
