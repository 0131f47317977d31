"""Whose word an actor is: ours for what was written here, that of a file for what was imported from it."""

from collections.abc import Collection
from uuid import UUID

from ledger.errors import LogCorrupted
from ledger.events import SessionOpened, StoredEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.ports import Store


class Origins:
    """Up to which version each stream was imported from an export file."""

    def __init__(self, imported_until: dict[UUID, int]) -> None:
        self._imported_until = imported_until

    @classmethod
    async def of(cls, store: Store, namespace_id: UUID, events: Collection[StoredEvent]) -> "Origins":
        """Return the origins of the streams of *events*, with one read, or none if the first events are among them."""
        firsts = {event.stream_id: event for event in events if event.version == 1}
        others = {event.stream_id: None for event in events if event.stream_id not in firsts}
        if others:
            found = await store.events.first_events(namespace_id, list(others))
            firsts |= {event.stream_id: event for event in found}
        return cls({stream_id: _imported_until(first) for stream_id, first in firsts.items()})

    def is_claimed(self, event: StoredEvent) -> bool:
        """Tell whether the actor of *event* is what its file claims; that of an opening is the importer."""
        return event.type != SessionOpened.type and event.version <= self._imported_until.get(event.stream_id, 0)


async def is_claimed_at(store: Store, stream: Stream, version: int) -> bool:
    """Tell whether the actor of the event at *version* is what its file claims."""
    events = await store.events.read_versions(stream, ((version, version),))
    origins = await Origins.of(store, stream.namespace_id, events)
    return any(origins.is_claimed(event) for event in events)


def _imported_until(first: StoredEvent) -> int:
    try:
        opened = decode(first).payload
    except LogCorrupted:  # `verify` reports it
        return 0
    origin = opened.imported_from if isinstance(opened, SessionOpened) else None
    return (origin and origin.version) or 0
