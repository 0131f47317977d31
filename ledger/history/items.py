"""What became of items a session once had: read from the log, by their ids."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from ledger.codec import decode
from ledger.events import (
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    MemoryAdded,
    MemoryEdited,
    MemoryRemoved,
    RecordedEvent,
    to_datetime,
)
from ledger.ids import Stream
from ledger.ports import Store
from ledger.session.put import PastItem, Remembered
from ledger.session.put.past import PastStatus
from ledger.session.state import SessionState
from projections import ranges

_Items: TypeAlias = dict[str, PastItem]


async def remembered(
    store: Store, stream: Stream, state: SessionState, messages: Sequence[str], memories: Sequence[str]
) -> Remembered:
    """Return what the session knows of these ids, up to *state*; unknown ones are not in it."""
    found = await store.events.find_items(stream, [*messages, *memories])
    versions = sorted({version for each in found.values() for version in each if version <= state.version})
    entries: _Items = {}
    kept: _Items = {}
    for stored in await store.events.read_versions(stream, ranges.ranges_of(versions)):
        _learn(entries, kept, decode(stored), state)
    wanted = set(messages), set(memories)
    return Remembered(
        {name: item for name, item in entries.items() if name in wanted[0]},
        {name: item for name, item in kept.items() if name in wanted[1]},
    )


def _learn(entries: _Items, memories: _Items, event: RecordedEvent, state: SessionState) -> None:
    """Take in one more event about an item, oldest first."""
    match event.payload:
        case EntryAdded() as added:
            status: PastStatus = _status(event.version, state, active=state.window.at(event.version) is not None)
            flags = state.working.flags
            entries[added.entry_id] = PastItem(
                item_id=added.entry_id,
                status=status,
                version=event.version,
                write_id=added.write_id,
                says=(added.role, added.content),
                earlier=_earlier(entries.get(added.entry_id)),
                listed=added.listed,
                created_at=added.created_at or to_datetime(event.recorded_us),
                persisted_at=flags.persisted_at(event.version) or added.persisted_at,
                extracted=added.extracted or ranges.contains(flags.extracted, event.version),
                added=added,
            )
        case EntryEdited() as change if (item := entries.get(change.entry_id)) is not None:
            _change(entries, item, (change.role or item.says[0], change.content))
        case EntryRemoved(entry_id=name) if name in entries:
            entries[name] = msgspec.structs.replace(entries[name], status="removed")
        case MemoryAdded() as added_memory:
            name = added_memory.memory_id
            active = any(one.version == event.version for one in state.working.memories)
            memories[name] = PastItem(
                item_id=name,
                status=_status(event.version, state, active=active),
                version=event.version,
                write_id=added_memory.write_id,
                says=(added_memory.fields.text, added_memory.fields.memory_type),
                earlier=_earlier(memories.get(name)),
                listed=added_memory.listed,
                persisted_at=added_memory.persisted_at,
                fields=added_memory.fields,
            )
        case MemoryEdited(fields=fields) as change if (item := memories.get(change.memory_id)) is not None:
            _change(memories, item, (fields.text, fields.memory_type))
            memories[item.item_id] = msgspec.structs.replace(memories[item.item_id], fields=fields)
        case MemoryRemoved(memory_id=name) if name in memories:
            memories[name] = msgspec.structs.replace(memories[name], status="removed")
        case _:
            pass


def _status(version: int, state: SessionState, *, active: bool) -> PastStatus:
    if active:
        return "active"
    return "cleared" if version <= state.cleared_version or not state.opened else "covered"


def _earlier(item: PastItem | None) -> tuple[tuple[str, str], ...]:
    return (*item.earlier, item.says) if item is not None else ()


def _change(items: _Items, item: PastItem, says: tuple[str, str]) -> None:
    items[item.item_id] = msgspec.structs.replace(item, says=says, earlier=(*item.earlier, item.says))
