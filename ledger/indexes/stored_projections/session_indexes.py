"""The session indexes of many namespaces, caught up and read as one (style §4)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Final
from uuid import UUID

from ledger.events import StoredEvent
from ledger.events.chain import check_positions
from ledger.events.ids import Stream
from ledger.history.fold_results import fold_digest
from ledger.indexes.stored_projections import builds, log_pages
from ledger.indexes.stored_projections.catch_ups import CatchUps
from ledger.indexes.stored_projections.many_namespaces import ManyBuilds
from ledger.indexes.stored_projections.session_list import SessionIndex, row_without_state
from ledger.ports import Store
from ledger.ports.projection_store import FoldedPage, NamedEvent, Place
from ledger.ports.session_index import IndexedSession
from ledger.session.evolve import SESSION


class SessionIndexes:
    """Lists the sessions of many namespaces; a `many_namespaces.BatchedProjection`."""

    name: Final = SessionIndex.name
    version: Final = SessionIndex.version

    def __init__(
        self,
        store: Store,
        alone: Callable[[UUID], Awaitable[tuple[int, int] | None]],
        *,
        catch_ups: CatchUps,
        patience_s: float | None = None,
    ) -> None:
        self._store = store
        self.builds = ManyBuilds(store, self, alone, catch_ups=catch_ups, patience_s=patience_s)

    async def advance_all(self, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        """See `BatchedProjection.advance_all`; a namespace with a session whose state is needed is left out."""
        pages = await self._store.projections.read_namespaces(
            {namespace_id: place.after for namespace_id, place in places.items()},
            limit=builds.PAGE,
            most_bytes=log_pages.PAGE_BYTES,
        )
        by_stream: dict[UUID, dict[UUID, list[NamedEvent]]] = {}
        for namespace_id, events in pages.items():
            check_positions((named.event for named in events), after=places[namespace_id].after)
            own = by_stream.setdefault(namespace_id, {})
            for named in events:
                if not named.session_id.startswith("/"):
                    own.setdefault(named.event.stream_id, []).append(named)
        keys = [
            (namespace_id, places[namespace_id].build, stream_id)
            for namespace_id, streams in by_stream.items()
            for stream_id, events in streams.items()
            if events[0].event.version > 1
        ]
        before = await self._store.session_index.rows(keys) if keys else {}
        folded: list[FoldedPage[IndexedSession]] = []
        for namespace_id, streams in by_stream.items():
            rows = [_row(before.get(stream_id), events) for stream_id, events in streams.items()]
            known = [row for row in rows if row is not None]
            if len(known) == len(rows):
                place, position = places[namespace_id], pages[namespace_id][-1].event.position
                folded.append(FoldedPage(namespace_id, place.build, place.after, position, known))
        return await self._store.session_index.save_all(folded, begin_as=self._code_digest) if folded else {}

    @cached_property
    def _code_digest(self) -> bytes:
        return fold_digest(self.name, self.version, SESSION.name)


def _row(before: IndexedSession | None, events: Sequence[NamedEvent]) -> IndexedSession | None:
    user_id, session_id, first = events[0]
    stream = Stream("", user_id, session_id, first.namespace_id, first.stream_id)
    stored: list[StoredEvent] = [named.event for named in events]
    return row_without_state(stream, before, stored)
