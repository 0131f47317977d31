"""Restore a past state of a session, or one entry: the text before an edit, or what was removed or cleared."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Unpack

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import resuming_commands, session_opened, starts_life
from ledger.errors import EntryCovered, EntryNotFound
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.names import check_entry_id
from ledger.events.strict_json import check_integer
from ledger.formats.state_json.state_export import whole_state
from ledger.history.item_history import entry_added_again, prior_items, read_item_events, status_of
from ledger.llm.tokenizers import TOKENIZERS
from ledger.results import Guard, Version
from ledger.session.commands import AddEntries, Command, EditEntry, ReplaceState, RestoreState
from ledger.session.merge.merge_fields import body_of, context_text
from ledger.session.merge.put_command import IfMatch, PutSession, ReturningMessage, TokenCount
from ledger.session.state import SessionState
from projections.content_facts import facts_of
from projections.entries import Entry
from projections.log.history import HISTORY, History, PastEntryStatus
from projections.log.item_versions import ItemVersion, item_versions
from projections.values import ranges


async def restore(handle: NamespaceHandle, session_id: str, version: int, **guard: Unpack[Guard]) -> Version:
    """Restore by new events what the session was at *version*, also after its end; return the new version.

    Messages with their order, ids and texts, summaries, data, memories, config and expiry become what they were, and
    strategies go on as they would have from there. History is not rewritten.

    Raises:
        SessionNotFound, VersionNotFound: there is no such state.
        VersionConflict: the session is not at *expected_version*.
        NotPermitted: the caller of a service may not set the config of then.
    """
    # http W-70
    check_integer(version, field="version")
    stream = handle.stream(session_id, guard.get("user_id"))
    past = await handle.services.states.at(stream, version=version)
    body = body_of(past)
    batches = groupby(past.window.entries, key=lambda entry: entry.write_id)
    returning = {
        entry.entry_id: _returning(entry, batch_id, past)
        for batch_id, batch in ((handle.services.clock.ulid(), batch) for _, batch in batches)
        for entry in batch
    }

    async def commands_for(state: SessionState) -> Sequence[Command]:
        handle.rights.check_past(past, state)
        new_life, write_id = starts_life(handle, state), handle.services.clock.ulid()
        put = PutSession(
            write_id=write_id,
            # summaries come back one by one, not as one text
            body=msgspec.structs.replace(body, context="" if new_life else context_text(state)),
            evidence=IfMatch(),
            count=partial(count, past.config.tokenizer),
            new_ids=tuple(handle.services.clock.ulid() for _ in range(body.ids_needed)),
            # an opening empties the window, so what is active now is looked up, too
            prior=await prior_items(handle.services.store, stream, state.as_ended() if new_life else state, body),
            opening=session_opened(stream, past.config, write_id) if new_life else None,
            restoring=not new_life and state.has_expired(handle.services.clock.now()),
            returning=returning,
        )
        anew = await _anew(handle, stream, past, state.as_ended() if new_life else state)
        return [RestoreState(put, past, anew)]

    written = await handle.change(stream, commands_for, "restore", {"version": version}, guard)
    return Version(written.version, replayed=written.replayed)


def _returning(entry: Entry, batch_id: str, past: SessionState) -> ReturningMessage:
    flags = past.working.flags
    return ReturningMessage(
        batch_id,
        TokenCount(entry.tokens, entry.tokenizer, entry.fallback),
        ranges.contains(flags.extracted, entry.version),
        flags.persisted_at(entry.version),
    )


async def _anew(
    handle: NamespaceHandle, stream: Stream, past: SessionState, state: SessionState
) -> ReplaceState | None:
    """Return all entries of *past* and their summaries, to be added again.

    None if the same entries have left the window until *state*, and none of them stands behind an active one that comes
    back at the end: searches then show each where it stood.
    """
    left = past.counts.covered, past.counts.erased
    left_now = (state.counts.covered, state.counts.erased) if state.opened else (0, 0)
    if left == left_now == (0, 0):
        return None
    active = {entry.version for entry in state.window.entries}
    moved = next((entry.version for entry in past.window.entries if entry.version not in active), past.version + 1)
    same = left == left_now and past.cleared_version == state.cleared_version
    compacted = past.counts.compactions != state.counts.compactions
    if same and not compacted and moved > past.version:
        return None
    events = list(map(decode, await handle.services.store.events.read_stream(stream, until=state.version)))
    history = HISTORY.fold(event for event in events if event.version <= past.version)
    gone = now = _left(history)
    if compacted:
        now = _left(HISTORY.fold((event for event in events if event.version > past.version), history))
    if same and now == gone and (not gone or gone[-1][0] < moved):
        return None
    return whole_state(past, history, handle.services.clock.ulid)


def _left(history: History) -> list[tuple[int, PastEntryStatus]]:
    """Return the versions of the entries that compactions took out of the window, ascending, each with its status."""
    return [(past.version, past.status) for past in history.current() if past.status in {"covered", "erased"}]


async def restore_entry(
    handle: NamespaceHandle, session_id: str, entry_id: str, *, version: int | None = None, **guard: Unpack[Guard]
) -> Version:
    """Make an entry what it was, by a new event, and return the session's version; the history stays.

    An entry that was removed or cleared is added again, at the end and with its id. An edited one gets its text back,
    in its place. *version* is that of the session at which the entry was as wanted; without it, a removed or cleared
    entry gets its last text, and an active one the text before its newest edit.

    Raises:
        EntryNotFound: the session never had such an entry, or not at *version*; or the session has ended.
        EntryCovered: a summary stands for the entry.
        VersionConflict: the session is not at *expected_version*.
    """
    check_entry_id(entry_id, field="entry_id")
    if version is not None:
        check_integer(version, field="version", code="bad_version", least=1)
    stream = handle.stream(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        if starts_life(handle, state):
            raise EntryNotFound(entry_id)
        events = await read_item_events(handle.services.store, stream, [entry_id], until=state.version)
        versions = [found for found in item_versions(map(decode, events)) if isinstance(found.item, Entry)]
        if not versions:
            raise EntryNotFound(entry_id, ever=False)
        wanted = _wanted(state, versions, version)
        assert isinstance(wanted.item, Entry)
        handle.rights.check_role(wanted.item.role, wanted.item.kind)
        change = _change(state, versions, wanted, handle.services.clock.ulid())
        return [*resuming_commands(handle, state), *change]

    body = {"entry_id": entry_id, "version": version}
    written = await handle.change(stream, commands_for, "restore_entry", body, guard)
    return Version(written.version, replayed=written.replayed)


def _wanted(state: SessionState, versions: Sequence[ItemVersion], version: int | None) -> ItemVersion:
    """Return which of an entry's *versions* to restore."""
    newest = versions[-1]
    if version is not None:
        until = [found for found in versions if found.event.version <= version]
        if not until or until[-1].removed:
            raise EntryNotFound(newest.item_id)
        return until[-1]
    edits = [found for found in versions[:-1] if found.item.version == newest.item.version]
    return edits[-1] if edits and status_of(newest, state) == "active" else newest


def _change(
    state: SessionState, versions: Sequence[ItemVersion], wanted: ItemVersion, write_id: str
) -> Sequence[Command]:
    newest, entry = versions[-1], wanted.item
    assert isinstance(entry, Entry)
    status = status_of(newest, state)
    if status == "covered":
        raise EntryCovered(newest.item_id)
    counted = TOKENIZERS[state.config.tokenizer].count(entry)
    if status == "active":
        return [
            EditEntry(
                write_id=write_id,
                entry_id=newest.item_id,
                content=entry.content,
                role=entry.role,
                tokens=counted.tokens,
                tokenizer=counted.tokenizer,
                fallback=counted.fallback,
            )
        ]
    added = msgspec.structs.replace(
        entry_added_again(wanted, state),
        write_id=write_id,
        content=entry.content,
        facts=facts_of(entry.content, entry.data, entry.metadata),
        role=entry.role,
        tokens=counted.tokens,
        tokenizer=counted.tokenizer,
        fallback=counted.fallback,
        listed=None,
        past=True,
    )
    return [AddEntries((added,))]


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a message that a tokenizer reads."""

    role: str
    content: str
    kind: str = "message"
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: object = None
    data: object = None


def count(tokenizer: str, role: str | None, text: str) -> TokenCount:
    """Return the tokens of a message of *role*, or of a summary if there is no role."""
    counter = TOKENIZERS[tokenizer]
    found = counter.count_text(text) if role is None else counter.count(_Message(role=role, content=text))
    return TokenCount(found.tokens, found.tokenizer, found.fallback)
