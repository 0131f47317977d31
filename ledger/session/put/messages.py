"""From a list of messages to events about entries."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from ledger.events import EntryAdded, EntryEdited, EntryRemoved, Event
from ledger.session.put.body import BodyMessage
from ledger.session.put.items import Change, ListChanges
from ledger.session.put.recognition import Known
from ledger.session.put.seen import Marked, Seen
from ledger.session.put.then import NOTHING_THEN, Then
from ledger.session.state import SessionState
from projections import ranges
from projections.entries import Entry


class Counted(msgspec.Struct, frozen=True):
    """How many tokens a text has, and by which tokenizer."""

    tokens: int
    tokenizer: str
    fallback: bool = False


#: Counts a text of a role; without role, that of a summary.
Counting: TypeAlias = Callable[[str | None, str], Counted]


def known_entry(entry: Entry) -> Known:
    """Return *entry* as the comparison sees it."""
    return Known(entry.version, entry.entry_id, entry.write_id, (entry.role, entry.content), entry.listed)


def entries_then(seen: Seen) -> Then:
    """Return the messages a marked writer saw."""
    if not isinstance(seen, Marked):
        return NOTHING_THEN
    entries = seen.then.window.entries
    says = {entry.entry_id: (entry.role, entry.content) for entry in entries}
    return Then(says, frozenset(entry.version for entry in entries))


def message_events(
    state: SessionState,
    found: ListChanges[BodyMessage],
    *,
    write_id: str,
    count: Counting,
    new_id: Callable[[], str],
) -> list[Event]:
    """Return the events that *found* amounts to: removals, edits in place, and what is added at the end."""
    active = {entry.version: entry for entry in state.window.entries}
    events: list[Event] = [
        EntryRemoved(
            write_id=write_id, entry_id=one.item_id, entry_version=one.version, tokens=active[one.version].tokens
        )
        for one in found.removed
    ]
    for change in found.edited:
        assert change.active is not None
        events.append(_edit(active[change.active.version], change.says, write_id, count))
    for number, change in enumerate(found.added):
        role, content = change.says
        counted = count(role, content)
        added = EntryAdded(
            write_id=write_id,
            entry_id=change.sent.id or "",
            kind="message",
            role=role,
            content=content,
            tokens=counted.tokens,
            tokenizer=counted.tokenizer,
            fallback=counted.fallback,
            listed=None if number else found.listed,
        )
        if change.active is not None:
            events.append(_moved(added, active[change.active.version], state))
        else:
            events.append(_arrived(added, change, new_id))
    return events


def _edit(entry: Entry, says: tuple[str, str], write_id: str, count: Counting) -> EntryEdited:
    role, content = says
    counted = count(role, content)
    return EntryEdited(
        write_id=write_id,
        entry_id=entry.entry_id,
        entry_version=entry.version,
        content=content,
        tokens=counted.tokens,
        tokens_before=entry.tokens,
        tokenizer=counted.tokenizer,
        fallback=counted.fallback,
        role=role if role != entry.role else None,
    )


def _moved(added: EntryAdded, entry: Entry, state: SessionState) -> EntryAdded:
    """Return *added* as the same entry in another place: all of it but its text is kept (http W-47)."""
    flags = state.working.flags
    return msgspec.structs.replace(
        added,
        entry_id=entry.entry_id,
        kind=entry.kind,
        data=entry.data,
        tool_name=entry.tool_name,
        tool_call_id=entry.tool_call_id,
        tool_status=entry.tool_status,
        arguments=entry.arguments,
        created_at=entry.created_at,
        metadata=entry.metadata,
        persisted_at=flags.persisted_at(entry.version),
        extracted=ranges.contains(flags.extracted, entry.version),
    )


def _arrived(added: EntryAdded, change: Change[BodyMessage], new_id: Callable[[], str]) -> EntryAdded:
    """Return *added* as a new entry, or as a past one that comes back, with its time and flags."""
    past = change.past
    if past is None:
        sent = change.sent
        return msgspec.structs.replace(
            added,
            entry_id=sent.id or new_id(),
            created_at=sent.created_at,
            persisted_at=sent.persisted_at,
            extracted=sent.extracted,
        )
    return msgspec.structs.replace(
        past.added or added,
        write_id=added.write_id,
        entry_id=past.item_id,
        role=added.role,
        content=added.content,
        tokens=added.tokens,
        tokenizer=added.tokenizer,
        fallback=added.fallback,
        created_at=past.created_at,
        persisted_at=past.persisted_at,
        extracted=past.extracted,
        listed=added.listed,
    )
