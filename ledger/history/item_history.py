"""Read the events about items, by their ids or their versions; and what a body's items were before."""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from ledger.events import EntryAdded, MemoryAdded, Ranges, StoredEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.ports import Store
from ledger.session.merge.merging import ids_to_look_up
from ledger.session.merge.put_command import Body, ItemStatus, ItemValue, PriorItems, StoredItem
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.log.item_versions import ItemVersion, item_versions
from projections.values import ranges
from projections.working_memory import Memory


async def read_item_events(
    store: Store,
    stream: Stream,
    ids: Sequence[str],
    *,
    after: int = 0,
    until: int | None = None,
    known: Collection[int] = (),
) -> list[StoredEvent]:
    """Return the events about the items with *ids*, oldest first, without those at the versions *known*."""
    found = await store.events.find_items(stream, ids) if ids else {}
    wanted = {
        version
        for versions in found.values()
        for version in versions
        if after < version and (until is None or version <= until)
    }.difference(known)
    return list(await store.events.read_versions(stream, ranges.ranges_of(sorted(wanted)))) if wanted else []


async def read_items(
    store: Store, stream: Stream, wanted: Ranges, *, until: int | None = None
) -> dict[int, ItemVersion]:
    """Return the items added at the versions in *wanted*, by version, with their changes up to version *until*."""
    events = [decode(stored) for stored in await store.events.read_versions(stream, wanted)]
    added = [event for event in events if isinstance(event.payload, EntryAdded | MemoryAdded)]
    known = {event.version for event in added}
    ids = {version.item_id for version in item_versions(added)}
    others = await read_item_events(store, stream, sorted(ids), until=until, known=known)
    versions = item_versions([*added, *map(decode, others)])
    return {version.item.version: version for version in versions if version.item.version in known}


async def prior_items(store: Store, stream: Stream, state: SessionState, body: Body) -> PriorItems:
    """Return what became, up to *state*, of the items in *body* that the state itself does not hold."""
    messages, memories = ids_to_look_up(state, body)
    if not state.version:
        return PriorItems()
    events = await read_item_events(store, stream, [*messages, *memories], until=state.version)
    entries: dict[str, StoredItem] = {}
    others: dict[str, StoredItem] = {}
    for version in item_versions(map(decode, events)):
        name = version.item_id
        if isinstance(version.item, Entry):
            if name in messages:
                entries[name] = _message(version, version.item, entries.get(name), state)
        elif name in memories:
            others[name] = _memory(version, version.item, others.get(name), state)
    return PriorItems(entries, others)


def _message(version: ItemVersion, entry: Entry, before: StoredItem | None, state: SessionState) -> StoredItem:
    return StoredItem(
        entry.version,
        version.item_id,
        entry.write_id,
        (entry.role, entry.content),
        entry.listed,
        _earlier(version, before),
        status_of(version, state),
        entry_added_again(version, state),
    )


def entry_added_again(version: ItemVersion, state: SessionState) -> EntryAdded:
    """Return the event that added an entry with the time and the flags that it has in *state*, to add it again."""
    added, flags, at = version.added.payload, state.working.flags, version.item.version
    assert isinstance(added, EntryAdded)
    return replace(
        added,
        created_at=version.item.created_at,
        persisted_at=flags.persisted_at(at) or added.persisted_at,
        extracted=added.extracted or ranges.contains(flags.extracted, at),
    )


def _memory(version: ItemVersion, memory: Memory, before: StoredItem | None, state: SessionState) -> StoredItem:
    added = version.added.payload
    assert isinstance(added, MemoryAdded)
    return StoredItem(
        memory.version,
        version.item_id,
        memory.write_id,
        (memory.fields.text, memory.fields.memory_type),
        memory.listed,
        _earlier(version, before),
        status_of(version, state),
        replace(added, fields=memory.fields),
    )


def _earlier(version: ItemVersion, before: StoredItem | None) -> tuple[ItemValue, ...]:
    """Return the values that the id had before this version."""
    if before is None or version.removed:
        return before.earlier if before is not None else ()
    return (*before.earlier, before.value)


def status_of(version: ItemVersion, state: SessionState) -> ItemStatus:
    """Return what became, up to *state*, of the item of *version*, its newest one."""
    at = version.item.version
    if version.removed:
        return "removed"
    if isinstance(version.item, Entry):
        active = state.window.entries.has(at)
    else:
        active = any(memory.version == at for memory in state.working.memories)
    if active:
        return "active"
    return "cleared" if version.item.version <= state.cleared_version or not state.opened else "covered"
