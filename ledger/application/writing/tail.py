"""Change the end of a session in one write: take the newest entry, take several away, or put others in their place."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ledger.application.commands.write_requests import Decision
from ledger.application.handle import NamespaceHandle, check_guard
from ledger.application.reading.transcript import read_transcript
from ledger.application.session_start import new_entry, opening_commands, resuming_commands, starts_life
from ledger.application.writing.added_entries import added_entries
from ledger.application.writing.entry_changes import whole_removals
from ledger.application.writing.values_by_digest import keep_once
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import EntryRemoved
from ledger.events.ids import Stream
from ledger.events.names import check_entry_id
from ledger.events.strict_json import check_integer
from ledger.history.item_history import read_items
from ledger.results import Added, Guard, Popped, Version
from ledger.session.commands import AddEntries, Command, RemoveEntry
from ledger.session.entry_drafts import EntryDraft, draft_entry
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.entries import Entry


async def pop_entry(handle: NamespaceHandle, session_id: str, **guard: Unpack[Guard]) -> Entry | None:
    """Remove the newest entry of the transcript and return it, or None. The entry stays in history.

    Of callers at the same time, each gets another entry. A summary of a compacted one still tells of it.

    Raises:
        VersionConflict: the session is not at *expected_version*.
    """
    # adapters LF-3
    return (await take_newest(handle, session_id, **guard)).entry


async def take_newest(handle: NamespaceHandle, session_id: str, **guard: Unpack[Guard]) -> Popped:
    """Do what `pop_entry` does, and return the version of the session too."""
    # adapters OA-4
    stream = handle.stream(session_id, guard.get("user_id"))
    expected_version, key = check_guard(guard)

    async def decision_for(state: SessionState) -> "Decision[Entry | None]":
        newest = await _newest(handle, stream, state, 1)
        if not newest:
            return Decision([], None)
        removing = removals(state, newest, handle.services.clock.ulid())
        return Decision([*resuming_commands(handle, state), *removing], newest[0])

    written, popped = await handle.services.commands.write_with_note(
        stream,
        decision_for,
        actor=handle.actor,
        expected_version=expected_version,
        idempotency=handle.idempotency(stream, "pop_entry", {}, key),
    )
    if written.replayed:
        (at, version), *_ = [
            (event.version, event.payload.entry_version)
            for event in written.events
            if isinstance(event.payload, EntryRemoved)
        ]
        found = await read_items(handle.services.store, stream, ((version, version),), until=at - 1)
        popped = next((each.item for each in found.values() if isinstance(each.item, Entry)), None)
    return Popped(entry=popped, version=written.version, replayed=written.replayed)


async def remove_entries(
    handle: NamespaceHandle, session_id: str, entry_ids: Sequence[str], **guard: Unpack[Guard]
) -> Version:
    """Remove active entries from the window, all in one write or none; return the session's version.

    With each go the rest of its answer and the results of its calls.

    Raises:
        EntryNotFound: one of them is not active.
        VersionConflict: the session is not at *expected_version*.
        InvalidInput: no id was given, or one is not valid.
    """
    # adapters LF-3
    names = list(dict.fromkeys(check_entry_id(name, field="entry_ids") for name in _some(entry_ids, "entry_ids")))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        if starts_life(handle, state):
            raise EntryNotFound(names[0])
        return [*resuming_commands(handle, state), *whole_removals(handle, state, names)]

    stream = handle.stream(session_id, guard.get("user_id"))
    written = await handle.change(stream, commands_for, "remove_entries", {"entry_ids": names}, guard)
    return Version(written.version, replayed=written.replayed)


async def replace_tail(
    handle: NamespaceHandle,
    session_id: str,
    entries: Sequence[Mapping[str, Any] | EntryDraft],
    *,
    count: int,
    expected_version: int,
    idempotency_key: str | None = None,
    user_id: str | None = None,
) -> Added:
    """Remove the newest *count* entries of the transcript and add *entries*, which may be none, in one write.

    Nothing is written unless the session is at *expected_version*. What was removed stays in history.

    Raises:
        VersionConflict: the session is not at *expected_version*.
        InvalidInput: there are fewer entries, or one of the new breaks a rule.
    """
    # adapters LF-3, OA-7
    check_integer(count, field="count", code="bad_value", least=0)
    check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    drafts = [draft_entry(raw, field=f"entries[{at}]") for at, raw in enumerate(entries)]
    if not drafts and not count:
        raise InvalidInput("batch_size", "must have entries, or a count of entries to remove", field="entries")
    return await replace_newest(
        handle,
        session_id,
        drafts,
        count=count,
        expected_version=expected_version,
        idempotency_key=idempotency_key,
        user_id=user_id,
    )


async def replace_newest(
    handle: NamespaceHandle,
    session_id: str,
    drafts: Sequence[EntryDraft],
    *,
    count: int,
    expected_version: int,
    idempotency_key: str | None = None,
    user_id: str | None = None,
    kept: Sequence[KeptDraft] = (),
) -> Added:
    """Do what `replace_tail` does, with *kept* values, whose keys tell their content: each is stored once."""
    # adapters LF-5, OA-7
    stream = handle.stream(session_id, user_id)

    async def decision_for(state: SessionState) -> "Decision[SessionState]":
        newest = await _newest(handle, stream, state, count)
        if count > len(newest):
            raise InvalidInput("bad_value", f"must be at most {len(newest)}, the entries that there are", field="count")
        write_id = handle.services.clock.ulid()
        tokenizer = (handle.services.config if starts_life(handle, state) else state.config).tokenizer
        new = tuple(new_entry(handle, draft, write_id, tokenizer) for draft in drafts)
        added = [AddEntries(new)] if new else []
        removing = removals(state, newest, write_id)
        values = await keep_once(handle, stream, state, kept, write_id) if kept else []
        return Decision([*opening_commands(handle, stream, state), *removing, *values, *added], state)

    body = {"entries": drafts, "count": count}
    written, before = await handle.services.commands.write_with_note(
        stream,
        decision_for,
        actor=handle.actor,
        expected_version=expected_version,
        idempotency=handle.idempotency(stream, "replace_tail", body, idempotency_key),
    )
    waiting = before.items.waiting if before is not None else ()
    entries_added = added_entries(written, waiting)
    return Added(session_id=session_id, version=written.version, entries=entries_added, replayed=written.replayed)


async def _newest(handle: NamespaceHandle, stream: Stream, state: SessionState, count: int) -> list[Entry]:
    """Return the newest *count* entries of the transcript in *state*, or all if there are fewer; oldest first."""
    if not count or starts_life(handle, state):
        return []
    return await read_transcript(handle, stream, state, last=count)


def removals(state: SessionState, entries: Sequence[Entry], write_id: str) -> list[Command]:
    """Return the commands that remove *entries* of the transcript in *state*, compacted or not."""
    return [
        RemoveEntry(write_id, entry.entry_id, compacted=None if state.window.at(entry.version) else entry)
        for entry in entries
    ]


def _some(names: Sequence[str], field: str) -> Sequence[str]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InvalidInput("wrong_type", "must be a list of at least one id", field=field)
    return names


def staying(active: Sequence[str], wanted: Sequence[str]) -> set[str]:
    """Return the *active* ids that may stay, so that the *wanted* are in their order once the others are added."""
    place = {entry_id: at for at, entry_id in enumerate(active)}
    staying: set[str] = set()
    last = -1
    for entry_id in wanted:
        at = place.get(entry_id, -1)
        if at <= last:
            break
        staying.add(entry_id)
        last = at
    return staying
