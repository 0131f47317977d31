"""What entries and memories were after each event about them, as one fold for both."""

from collections.abc import Iterable
from typing import NamedTuple

from ledger.events import (
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    MemoryAdded,
    MemoryEdited,
    MemoryRemoved,
    RecordedEvent,
)
from projections.entries import Entry, added, edited
from projections.working_memory import Memory, memory_edited, memory_of


class ItemVersion(NamedTuple):
    """An item after an *event* about it, and the event that *added* it; *removed* if it has been removed."""

    event: RecordedEvent
    item: Entry | Memory
    added: RecordedEvent
    removed: bool = False

    @property
    def item_id(self) -> str:
        """The id of the entry or memory."""
        return self.item.entry_id if isinstance(self.item, Entry) else self.item.memory_id


def item_versions(events: Iterable[RecordedEvent]) -> list[ItemVersion]:
    """Return one version per event about an item, in the order of *events*; those of items not added are left out."""
    newest: dict[int, ItemVersion] = {}
    versions = []
    for event in events:
        version = _version(newest, event)
        if version is not None:
            newest[version.item.version] = version
            versions.append(version)
    return versions


def _version(newest: dict[int, ItemVersion], event: RecordedEvent) -> ItemVersion | None:
    match event.payload:
        case EntryAdded() as payload:
            return ItemVersion(event, added(event, payload), event)
        case MemoryAdded() as payload:
            return ItemVersion(event, memory_of(event, payload), event)
        case EntryEdited(entry_version=at) as payload if at in newest:
            entry = newest[at].item
            assert isinstance(entry, Entry)
            return newest[at]._replace(event=event, item=edited(entry, event, payload))
        case MemoryEdited(memory_version=at) as payload if at in newest:
            memory = newest[at].item
            assert isinstance(memory, Memory)
            return newest[at]._replace(event=event, item=memory_edited(memory, event, payload))
        case EntryRemoved(entry_version=at) | MemoryRemoved(memory_version=at) if at in newest:
            return newest[at]._replace(event=event, removed=True)
        case _:
            return None
