"""From a list of memories to events about them."""

from collections.abc import Callable

from msgspec.structs import fields as fields_of
from msgspec.structs import replace

from ledger.events import Event, MemoryAdded, MemoryEdited, MemoryFields, MemoryRemoved
from ledger.session.put.body import BodyMemory
from ledger.session.put.items import Change, ListChanges
from ledger.session.put.recognition import Known
from ledger.session.put.seen import Marked, Seen
from ledger.session.put.then import NOTHING_THEN, Then
from ledger.session.state import SessionState
from projections.working_memory import Memory


def known_memory(memory: Memory) -> Known:
    """Return *memory* as the comparison sees it."""
    says = (memory.fields.text, memory.fields.memory_type)
    return Known(memory.version, memory.memory_id, memory.write_id, says, memory.listed)


def memories_then(seen: Seen) -> Then:
    """Return the memories a marked writer saw."""
    if not isinstance(seen, Marked):
        return NOTHING_THEN
    memories = seen.then.working.memories
    says = {one.memory_id: (one.fields.text, one.fields.memory_type) for one in memories}
    return Then(says, frozenset(one.version for one in memories))


def memory_events(
    state: SessionState, found: ListChanges[BodyMemory], seen: Seen, *, write_id: str, new_id: Callable[[], str]
) -> list[Event]:
    """Return the events that *found* amounts to: removals, edits in place, and what is added at the end."""
    active = {memory.version: memory for memory in state.working.memories}
    events: list[Event] = [
        MemoryRemoved(write_id=write_id, memory_id=one.item_id, memory_version=one.version) for one in found.removed
    ]
    for change in found.kept:
        assert change.active is not None
        memory = active[change.active.version]
        fields = _merged(change, memory.fields, memory.memory_id, seen)
        if fields != memory.fields:
            events.append(
                MemoryEdited(
                    write_id=write_id, memory_id=memory.memory_id, memory_version=memory.version, fields=fields
                )
            )
    for number, change in enumerate(found.added):
        added = _added(change, active.get(change.active.version) if change.active else None, seen, write_id, new_id)
        events.append(added if number else replace(added, listed=found.listed))
    return events


def _added(
    change: Change[BodyMemory], memory: Memory | None, seen: Seen, write_id: str, new_id: Callable[[], str]
) -> MemoryAdded:
    """Return a memory that is new, comes back, or moves to the end."""
    name = change.sent.id or new_id()
    fields, persisted_at = change.sent.fields, change.sent.persisted_at
    if memory is not None:
        name, persisted_at = memory.memory_id, memory.persisted_at
        fields = _merged(change, memory.fields, name, seen)
    elif change.past is not None and change.past.fields is not None:
        name, persisted_at = change.past.item_id, change.past.persisted_at
        fields = _merged(change, change.past.fields, name, seen)
    return MemoryAdded(write_id=write_id, memory_id=name, fields=fields, persisted_at=persisted_at)


def _merged(change: Change[BodyMemory], current: MemoryFields, name: str, seen: Seen) -> MemoryFields:
    """Return *current* with the fields that were sent: what is absent keeps its value (http W-29)."""
    sent = change.sent
    names = [field.name for field in fields_of(MemoryFields) if field.name in sent.sent]
    if isinstance(seen, Marked) and (then := seen.then.working.memory(name)) is not None:
        names = [each for each in names if getattr(sent.fields, each) != getattr(then.fields, each)]
    text, memory_type = change.says
    wanted = {each: getattr(sent.fields, each) for each in names}
    return replace(current, **{**wanted, "text": text, "memory_type": memory_type})
