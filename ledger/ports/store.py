"""A store: everything a ledger stores, one port for each purpose."""

from copy import copy
from typing import Protocol, TypeVar

from ledger.ports.event_store import EventStore
from ledger.ports.jobs import JobStore
from ledger.ports.records import RecordStore
from ledger.ports.search_index import SearchIndexStore
from ledger.ports.served_views import ServedViewStore
from ledger.ports.session_index import SessionIndexStore
from ledger.ports.snapshots import SnapshotStore
from ledger.ports.stored_projections import ProjectionStore


class Store(Protocol):
    """The event store, and what is derived from it and may be rebuilt or dropped."""

    events: EventStore
    snapshots: SnapshotStore
    projections: ProjectionStore
    session_index: SessionIndexStore
    search: SearchIndexStore
    records: RecordStore
    jobs: JobStore
    served_views: ServedViewStore

    async def close(self) -> None:
        """Close the connections; appends under way finish first."""
        ...


S = TypeVar("S", bound=Store)


def with_events(store: S, events: EventStore) -> S:
    """Return *store* with *events* as its event store, a decorator of its own one; *store* stays as it is."""
    decorated = copy(store)
    decorated.events = events
    return decorated
