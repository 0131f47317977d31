"""The whole three-way merge, from a body to events. Source: http W-51, W-60, W-61."""

from collections.abc import Iterable, Mapping, Sequence

from ledger.events import Event, ExpirySet, SessionRestored
from ledger.session.merge.merge_events import field_events, memory_events, message_events
from ledger.session.merge.merge_fields import merge_fields
from ledger.session.merge.merge_lists import merge_list
from ledger.session.merge.put_command import (
    Blind,
    Body,
    BodyMemory,
    BodyMessage,
    ItemValue,
    PutSession,
    StoredItem,
    ThreeWay,
)
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.memory_config import config
from projections.working_memory import Memory


def merge(state: SessionState, put: PutSession) -> list[Event]:
    """Return the events, oldest first; none if the body changes nothing and the session never expires."""
    begun, theirs = started(state, put)
    base = put.evidence.base if isinstance(put.evidence, ThreeWay) else SessionState()
    version, prior, new_ids = state.version + len(begun), put.prior, iter(put.new_ids)
    messages = merge_list(
        _stored_entries(base.window.entries, {}),
        _stored_entries(theirs.window.entries, prior.messages),
        put.body.messages,
        put.evidence,
        prior=prior.messages,
        views=put.views,
        version=version,
    )
    memories = merge_list(
        _stored_memories(base.working.memories, {}),
        _stored_memories(theirs.working.memories, prior.memories),
        put.body.memories,
        put.evidence,
        prior=prior.memories,
        version=version,
    )
    new_list = isinstance(put.evidence, Blind) and bool(put.body.messages) and not messages.matched
    fields = merge_fields(theirs, put.body, put.evidence, new_list=new_list)
    about_messages = message_events(theirs, messages, put, new_ids)
    events = [
        *begun,
        *about_messages,
        *memory_events(theirs, memories, put, new_ids),
        *field_events(theirs, fields, put, new_ids, new_config=put.config if about_messages else None),
    ]
    if not events and theirs.working.ttl_seconds is not None:
        return [ExpirySet(write_id=put.write_id, ttl_seconds=theirs.working.ttl_seconds)]  # http W-20
    return events


def ids_to_look_up(state: SessionState, body: Body) -> tuple[list[str], list[str]]:
    """Return the ids of messages and memories in *body* whose history the merge needs.

    These are items that are not active, and edited active items that are sent with another value (http W-53, W-56).
    """
    entries, memories = state.window.entries, state.working.memories
    return (
        _to_look_up(
            body.messages, {entry.entry_id: _entry_value(entry) if entry.edited_version else None for entry in entries}
        ),
        _to_look_up(
            body.memories,
            {memory.memory_id: _memory_value(memory) if memory.edited_version else None for memory in memories},
        ),
    )


def _to_look_up(ours: Sequence[BodyMessage | BodyMemory], edited: Mapping[str, ItemValue | None]) -> list[str]:
    """Return ids of *ours*; *edited* has the value of each active item, or None if it was never edited."""
    return [item.id for item in ours if item.id is not None and edited.get(item.id, ()) not in {None, item.value}]


def started(state: SessionState, put: PutSession) -> tuple[list[Event], SessionState]:
    """Return the event that starts or continues a life, if one does, and the state to merge the body with."""
    if put.opening is not None:
        return [put.opening], SessionState(version=state.version, config=config.load(put.opening.config))
    return [SessionRestored(write_id=put.write_id)] if put.restoring else [], state


def _stored_entries(entries: Iterable[Entry], prior: Mapping[str, StoredItem]) -> list[StoredItem]:
    return [_stored(entry, entry.entry_id, _entry_value(entry), prior) for entry in entries]


def _stored_memories(memories: Iterable[Memory], prior: Mapping[str, StoredItem]) -> list[StoredItem]:
    return [_stored(memory, memory.memory_id, _memory_value(memory), prior) for memory in memories]


def _stored(item: Entry | Memory, item_id: str, value: ItemValue, prior: Mapping[str, StoredItem]) -> StoredItem:
    earlier = prior[item_id].earlier if item_id in prior else ()
    return StoredItem(item.version, item_id, item.write_id, value, item.listed, earlier)


def _entry_value(entry: Entry) -> ItemValue:
    return entry.role, entry.content


def _memory_value(memory: Memory) -> ItemValue:
    return memory.fields.text, memory.fields.memory_type
