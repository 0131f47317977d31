"""Read what became of a session's earlier items from the log, by their ids."""

from msgspec.structs import replace

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
from ledger.session.merge.command import Body, ItemStatus, PriorItems, StoredItem
from ledger.session.merge.merging import ids_to_look_up
from ledger.session.state import SessionState
from projections import ranges


async def prior_items(store: Store, stream: Stream, state: SessionState, body: Body) -> PriorItems:
    """Return what became, up to *state*, of the items in *body* that the state itself does not hold."""
    messages, memories = ids_to_look_up(state, body)
    if not (messages or memories) or not state.version:
        return PriorItems()
    found = await store.events.find_items(stream, [*messages, *memories])
    versions = ranges.ranges_of(
        sorted({each for of_item in found.values() for each in of_item if each <= state.version})
    )
    if not versions:
        return PriorItems()
    found_messages: dict[str, StoredItem] = {}
    found_memories: dict[str, StoredItem] = {}
    for stored in await store.events.read_versions(stream, versions):
        event = decode(stored)
        _fold_message(found_messages, event, state)
        _fold_memory(found_memories, event, state)
    return PriorItems(
        {name: found_messages[name] for name in messages if name in found_messages},
        {name: found_memories[name] for name in memories if name in found_memories},
    )


def _fold_message(items: dict[str, StoredItem], event: RecordedEvent, state: SessionState) -> None:
    """Apply the next event about a message to *items*."""
    match event.payload:
        case EntryAdded(entry_id=name) as added:
            flags = state.working.flags
            items[name] = StoredItem(
                event.version,
                name,
                added.write_id,
                (added.role, added.content),
                added.listed,
                _earlier(items.get(name)),
                _status(event.version, state, active=state.window.at(event.version) is not None),
                replace(
                    added,
                    created_at=added.created_at or to_datetime(event.recorded_us),
                    persisted_at=flags.persisted_at(event.version) or added.persisted_at,
                    extracted=added.extracted or ranges.contains(flags.extracted, event.version),
                ),
            )
        case EntryEdited(entry_id=name, role=role, content=content) if (item := items.get(name)) is not None:
            items[name] = replace(item, value=(role or item.value[0], content), earlier=_earlier(item))
        case EntryRemoved(entry_id=name) if name in items:
            items[name] = replace(items[name], status="removed")
        case _:
            pass


def _fold_memory(items: dict[str, StoredItem], event: RecordedEvent, state: SessionState) -> None:
    """Apply the next event about a memory to *items*."""
    match event.payload:
        case MemoryAdded(memory_id=name, fields=fields) as added:
            active = any(memory.version == event.version for memory in state.working.memories)
            items[name] = StoredItem(
                event.version,
                name,
                added.write_id,
                (fields.text, fields.memory_type),
                added.listed,
                _earlier(items.get(name)),
                _status(event.version, state, active=active),
                added,
            )
        case MemoryEdited(memory_id=name, fields=fields) if (item := items.get(name)) is not None:
            assert isinstance(item.event, MemoryAdded)
            items[name] = replace(
                item,
                value=(fields.text, fields.memory_type),
                earlier=_earlier(item),
                event=replace(item.event, fields=fields),
            )
        case MemoryRemoved(memory_id=name) if name in items:
            items[name] = replace(items[name], status="removed")
        case _:
            pass


def _status(version: int, state: SessionState, *, active: bool) -> ItemStatus:
    if active:
        return "active"
    return "cleared" if version <= state.cleared_version or not state.opened else "covered"


def _earlier(item: StoredItem | None) -> tuple[tuple[str, str], ...]:
    return (*item.earlier, item.value) if item is not None else ()
