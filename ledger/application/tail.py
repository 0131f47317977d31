"""Change the end of a session in one write: take the newest entry, take several away, or put others in their place."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from ledger.application.added_entries import added_entries
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import new_entry, opening_commands, resuming_commands, starts_life
from ledger.application.writes import Decision
from ledger.errors import EntryNotFound, InvalidInput
from ledger.names import check_entry_id
from ledger.results import Added, Guard, Version
from ledger.session.commands import AddEntries, Command, RemoveEntry
from ledger.session.drafts import EntryDraft, draft_entry
from ledger.session.state import SessionState
from ledger.strict_json import check_integer
from projections.entries import Entry


async def pop_entry(handle: NamespaceHandle, session_id: str, *, user_id: str | None = None) -> Entry | None:
    """Remove the newest active entry and return it; None if there is none. The entry stays in history.

    Of callers at the same time, each gets another entry.
    """
    # adapters LF-3, OA-4

    async def decision_for(state: SessionState) -> "Decision[Entry | None]":
        entries = () if starts_life(handle, state) else state.window.entries
        newest = next(reversed(entries), None)
        if newest is None:
            return Decision([], None)
        remove = RemoveEntry(handle.services.clock.ulid(), newest.entry_id)
        return Decision([*resuming_commands(handle, state), remove], newest)

    stream = handle.stream(session_id, user_id)
    _, popped = await handle.services.commands.write_with_note(stream, decision_for, actor=handle.actor)
    return popped


async def remove_entries(
    handle: NamespaceHandle, session_id: str, entry_ids: Sequence[str], **guard: Unpack[Guard]
) -> Version:
    """Remove active entries from the window, all in one write or none; return the session's version.

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
        write_id = handle.services.clock.ulid()
        return [*resuming_commands(handle, state), *(RemoveEntry(write_id, name) for name in names)]

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
    user_id: str | None = None,
) -> Added:
    """Remove the newest *count* active entries and add *entries*, which may be none, in one write.

    Nothing is written unless the session is at *expected_version*. What was removed stays in history.

    Raises:
        VersionConflict: the session is not at *expected_version*.
        InvalidInput: there are fewer active entries, or an entry breaks a rule.
    """
    # adapters LF-3, OA-7
    check_integer(count, field="count", code="bad_value", least=0)
    check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    drafts = [draft_entry(raw, field=f"entries[{at}]") for at, raw in enumerate(entries)]
    if not drafts and not count:
        raise InvalidInput("batch_size", "must have entries, or a count of entries to remove", field="entries")
    stream = handle.stream(session_id, user_id)

    async def decision_for(state: SessionState) -> "Decision[SessionState]":
        active = [] if starts_life(handle, state) else [entry.entry_id for entry in state.window.entries]
        if count > len(active):
            raise InvalidInput("bad_value", f"must be at most {len(active)}, the active entries", field="count")
        write_id = handle.services.clock.ulid()
        tokenizer = (handle.services.config if starts_life(handle, state) else state.config).tokenizer
        new = tuple(new_entry(handle, draft, write_id, tokenizer) for draft in drafts)
        removed = [RemoveEntry(write_id, name) for name in active[len(active) - count :]]
        added = [AddEntries(new)] if new else []
        return Decision([*opening_commands(handle, stream, state), *removed, *added], state)

    written, before = await handle.services.commands.write_with_note(
        stream, decision_for, actor=handle.actor, expected_version=expected_version
    )
    waiting = before.items.waiting if before is not None else ()
    return Added(session_id=session_id, version=written.version, entries=added_entries(written, waiting))


def _some(names: Sequence[str], field: str) -> Sequence[str]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InvalidInput("wrong_type", "must be a list of at least one id", field=field)
    return names
