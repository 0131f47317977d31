"""The result of a merge as events."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import fields as struct_fields
from msgspec.structs import replace

from ledger.events import (
    ConfigChanged,
    ContextSet,
    DataChanged,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    ExpirySet,
    KnownToWriter,
    MemoryAdded,
    MemoryEdited,
    MemoryFields,
    MemoryRemoved,
)
from ledger.session.merge.matching import Match
from ledger.session.merge.merge_fields import MergedFields, changed_data, fields_of
from ledger.session.merge.merge_lists import MergedList
from ledger.session.merge.put_command import BodyMemory, BodyMessage, Evidence, PutSession, ThreeWay
from ledger.session.state import SessionState
from projections.content_facts import facts_of, reads_as_error
from projections.entries import Entry
from projections.memory_config import config
from projections.memory_config.config import MemoryConfig
from projections.values import ranges

#: The fields that an entry keeps when it comes back or moves (http W-47).
_TAKEN_OVER: Final = ("kind", "data", "tool_name", "tool_call_id", "tool_status", "arguments", "metadata")


def message_events(
    state: SessionState, merged: MergedList[BodyMessage], put: PutSession, new_ids: Iterator[str]
) -> list[Event]:
    """Return the messages removed, edited in place, and added at the end.

    Raises:
        NotPermitted: ``role_not_allowed``.
    """
    active = {entry.version: entry for entry in state.window.entries}
    if any(_is_of_system(match, active) for match in (*merged.in_place, *merged.added)):
        put.check_system()
    events: list[Event] = []
    for item in merged.removed:
        entry = active[item.version]
        events.append(
            EntryRemoved(write_id=put.write_id, entry_id=item.item_id, entry_version=item.version, tokens=entry.tokens)
        )
    events += [
        _edited(active[match.active.version], match, put)
        for match in merged.in_place
        if match.active is not None and match.value != match.active.value
    ]
    listed: KnownToWriter | None = merged.listed
    for match in merged.added:
        events.append(_added(match, state, active, put, new_ids, listed))
        listed = None  # only the first event of a write has it
    return events


def _is_of_system(match: Match[BodyMessage], active: dict[int, Entry]) -> bool:
    """Tell whether the match adds or changes a message of the system (trust I-32)."""
    if match.active is not None:
        pinned = active[match.active.version].pinned
        return match.value != match.active.value and (pinned or match.value[0] == "system")
    before = match.stored.event if match.stored is not None else None
    return match.value[0] == "system" or (isinstance(before, EntryAdded) and before.kind == "system_instruction")


def _edited(entry: Entry, match: Match[BodyMessage], put: PutSession) -> EntryEdited:
    role, content = match.value
    counted = put.count_of(entry.entry_id, role, content)
    return EntryEdited(
        write_id=put.write_id,
        entry_id=entry.entry_id,
        entry_version=entry.version,
        content=content,
        tokens=counted.tokens,
        tokens_before=entry.tokens,
        tokenizer=counted.tokenizer,
        fallback=counted.fallback,
        role=role if role != entry.role else None,
        reads_as_error=reads_as_error(content),
    )


def _added(
    match: Match[BodyMessage],
    state: SessionState,
    active: dict[int, Entry],
    put: PutSession,
    new_ids: Iterator[str],
    listed: KnownToWriter | None,
) -> EntryAdded:
    """Return an entry that is new, comes back, or moves to the end; the last two change only their text (http W-47)."""
    role, content = match.value
    counted = put.count_of(match.ours.id, role, content)
    returning = put.returning.get(match.ours.id or "")
    added = EntryAdded(
        write_id=returning.write_id if returning else put.write_id,
        entry_id="",
        kind="message",
        role=role,
        content=content,
        tokens=counted.tokens,
        tokenizer=counted.tokenizer,
        fallback=counted.fallback,
        facts=facts_of(content, None, None),
        listed=listed,
        past=returning is not None,
    )
    stored, sent = match.stored, match.ours
    if stored is None:
        return replace(
            added,
            entry_id=sent.id or next(new_ids),
            created_at=sent.created_at,
            persisted_at=sent.persisted_at,
            extracted=sent.extracted,
        )
    origin, flags = stored.event, state.working.flags
    if origin is None:
        persisted_at = flags.persisted_at(stored.version)
        extracted = ranges.contains(flags.extracted, stored.version)
    else:
        assert isinstance(origin, EntryAdded)
        persisted_at, extracted = origin.persisted_at, origin.extracted
    if returning is not None:  # a clear since then has forgotten its marks
        persisted_at, extracted = persisted_at or returning.persisted_at, extracted or returning.extracted
    taken_over = {name: getattr(origin or active[stored.version], name) for name in _TAKEN_OVER}
    taken_over["created_at"] = origin.created_at if origin else active[stored.version].claimed_at
    taken_over["facts"] = facts_of(content, taken_over["data"], taken_over["metadata"])
    return replace(added, entry_id=stored.item_id, persisted_at=persisted_at, extracted=extracted, **taken_over)


def memory_events(
    state: SessionState, merged: MergedList[BodyMemory], put: PutSession, new_ids: Iterator[str]
) -> list[Event]:
    """Return the memories removed, edited in place, and added at the end."""
    active = {memory.version: memory for memory in state.working.memories}
    events: list[Event] = [
        MemoryRemoved(write_id=put.write_id, memory_id=item.item_id, memory_version=item.version)
        for item in merged.removed
    ]
    for match in merged.in_place:
        assert match.active is not None
        memory = active[match.active.version]
        fields = _merged_fields(match, memory.fields, memory.memory_id, put.evidence)
        if fields != memory.fields:
            events.append(
                MemoryEdited(
                    write_id=put.write_id, memory_id=memory.memory_id, memory_version=memory.version, fields=fields
                )
            )
    listed: KnownToWriter | None = merged.listed
    for match in merged.added:
        stored, sent = match.stored, match.ours
        if stored is None:
            name, fields, persisted_at = sent.id or next(new_ids), sent.fields, sent.persisted_at
        else:
            origin = stored.event or active[stored.version]
            assert not isinstance(origin, EntryAdded)
            name, persisted_at = stored.item_id, origin.persisted_at
            fields = _merged_fields(match, origin.fields, name, put.evidence)
        events.append(
            MemoryAdded(write_id=put.write_id, memory_id=name, fields=fields, persisted_at=persisted_at, listed=listed)
        )
        listed = None
    return events


def _merged_fields(match: Match[BodyMemory], theirs: MemoryFields, memory_id: str, evidence: Evidence) -> MemoryFields:
    """Return *theirs* with the fields that were sent; absent fields keep their value (http W-29)."""
    ours = match.ours
    names = [field.name for field in struct_fields(MemoryFields) if field.name in ours.sent]
    if isinstance(evidence, ThreeWay) and (base := evidence.base.working.memory(memory_id)) is not None:
        names = [name for name in names if getattr(ours.fields, name) != getattr(base.fields, name)]
    text, memory_type = match.value
    wanted = {name: getattr(ours.fields, name) for name in names}
    return replace(theirs, **{**wanted, "text": text, "memory_type": memory_type})


def field_events(
    state: SessionState,
    merged: MergedFields,
    put: PutSession,
    new_ids: Iterator[str],
    *,
    new_config: MemoryConfig | None,
) -> list[Event]:
    """Return the events that turn the fields of *state* into *merged*."""
    current = fields_of(state)
    events: list[Event] = []
    changed, removed = changed_data(current.data, merged.data)
    if changed or removed:
        events.append(DataChanged(write_id=put.write_id, set=changed, removed=removed))
    if merged.context != current.context:
        events.append(_context(state, merged.context, put, new_ids))
    wanted = new_config or state.config
    if (wanted, merged.extraction, merged.tokens) != (state.config, current.extraction, current.tokens):
        events.append(
            ConfigChanged(
                write_id=put.write_id,
                config=config.dump(wanted),
                extraction=merged.extraction,
                tokens=merged.tokens,
            )
        )
    if merged.ttl_seconds != current.ttl_seconds:
        events.append(ExpirySet(write_id=put.write_id, ttl_seconds=merged.ttl_seconds))
    return events


def _context(state: SessionState, text: str, put: PutSession, new_ids: Iterator[str]) -> ContextSet:
    folds = tuple(summary.summary_id for summary in state.summaries.live)
    if not text:
        return ContextSet(write_id=put.write_id, folds=folds)
    counted = put.count(None, text)
    return ContextSet(
        write_id=put.write_id,
        summary_id=next(new_ids),
        text=text,
        tokens=counted.tokens,
        tokenizer=counted.tokenizer,
        fallback=counted.fallback,
        folds=folds,
    )
