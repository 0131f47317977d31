"""The only place where commands become events (style §2).

    decide(state, command) -> [event, …]      may refuse; changes nothing
    evolve(state, event)   -> state           never refuses what was recorded (see `state`)

Both are pure: times and ids come in as arguments.
"""

from typing import assert_never

from ledger.errors import DuplicateEntry, EntryNotFound
from ledger.events import (
    ConfigChanged,
    DataChanged,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    ExpirySet,
    SessionCleared,
    SessionOpened,
    SessionRestored,
)
from ledger.session import compaction_decisions, rebuild_decisions
from ledger.session.commands import (
    AddEntries,
    ChangeConfig,
    ChangeData,
    ClearSession,
    Command,
    CompleteCompaction,
    EditEntry,
    FailCompaction,
    FollowAgent,
    HideAdded,
    Keep,
    MarkExtracted,
    MarkIndexed,
    OpenSession,
    PromoteMemory,
    RecordContext,
    RemoveEntry,
    ReplaceState,
    RequestCompaction,
    RestoreSession,
    RestoreState,
    SetExpiry,
)
from ledger.session.evolve import end_of_batch
from ledger.session.merge.merge_fields import members_to_set
from ledger.session.merge.merging import merge
from ledger.session.merge.put_command import PutSession
from ledger.session.rebuild_commands import AnswerRebuild, CompleteRebuild, FailRebuild, RequestRebuild
from ledger.session.restore_decisions import configure, replace_state, restore
from ledger.session.state import SessionState
from projections.content_facts import reads_as_error
from projections.entries import Entry
from projections.memory_config import config
from projections.stats import Counts


def decide(state: SessionState, command: Command) -> list[Event]:
    """Return the events of *command*, oldest first; none if it changes nothing.

    Raises:
        DuplicateEntry: an entry with this id exists, with other content.
        EntryNotFound: the window has no such entry.
        CompactionInProgress: a compaction with this key is running (R-CMP-7).
    """
    if isinstance(command, AddEntries):  # it needs nothing of the state
        return list(_new_entries(command.entries, command.known))
    state = end_of_batch(state)
    match command:
        case OpenSession():
            return [] if state.opened and not command.anew else [_opened(command)]
        case EditEntry():
            return _edit(state, command)
        case RemoveEntry(write_id=write_id, entry_id=entry_id, compacted=compacted):
            entry = compacted or _active(state, entry_id)
            return [
                EntryRemoved(write_id=write_id, entry_id=entry_id, entry_version=entry.version, tokens=entry.tokens)
            ]
        case ClearSession(write_id=write_id, end=end):
            unchanged = state.counts == Counts() and not state.summaries.live and not end
            return [] if unchanged or not state.opened else [SessionCleared(write_id=write_id, ended=end)]
        case RequestCompaction():
            return compaction_decisions.request(state, command)
        case CompleteCompaction():
            return compaction_decisions.complete(state, command)
        case FailCompaction():
            return compaction_decisions.fail(state, command)
        case ChangeConfig() | PutSession() | ReplaceState() | RestoreState():
            return _change_all(state, command)
        case RequestRebuild() | AnswerRebuild() | FailRebuild() | CompleteRebuild():
            return rebuild_decisions.decide(state, command)
        case _:
            return _decide_beside_window(state, command)


def _change_all(state: SessionState, command: ChangeConfig | PutSession | ReplaceState | RestoreState) -> list[Event]:
    """Decide the commands that may end a running rebuild. Source: R-RBD-4."""
    match command:
        case ChangeConfig():
            events = configure(state, command)
        case PutSession():
            events = merge(state, command)
        case ReplaceState():
            events = replace_state(state, command)
        case RestoreState():
            events = restore(state, command)
        case _:
            assert_never(command)
    if isinstance(command, ReplaceState | RestoreState) or any(isinstance(event, ConfigChanged) for event in events):
        write_id = command.put.write_id if isinstance(command, RestoreState) else command.write_id
        # last, because the versions of the others are part of them
        events += rebuild_decisions.superseded(state, write_id, "the session was changed in another way meanwhile")
    return events


def _decide_beside_window(
    state: SessionState,
    command: Keep
    | HideAdded
    | FollowAgent
    | RecordContext
    | RestoreSession
    | ChangeData
    | SetExpiry
    | MarkExtracted
    | MarkIndexed
    | PromoteMemory,
) -> list[Event]:
    """Decide the commands that do not concern the window (http W-47, W-48)."""
    match command:
        case Keep(events=events):
            return list(events)
        case HideAdded(removed=hidden):
            return list(hidden)
        case FollowAgent(events=changes):
            return list(changes)
        case RecordContext(rendered=rendered):
            return [rendered]
        case RestoreSession(write_id=write_id):
            return [SessionRestored(write_id=write_id)] if state.opened else []
        case ChangeData(write_id=write_id, set=wanted, removed=removed):
            data = {} if command.begins else state.working.data
            changed = members_to_set(data, wanted)
            removed_keys = tuple(key for key in removed if key in data)
            return (
                [DataChanged(write_id=write_id, set=changed, removed=removed_keys)] if changed or removed_keys else []
            )
        case SetExpiry(write_id=write_id, ttl_seconds=ttl_seconds):
            same = ttl_seconds == state.working.ttl_seconds
            return [] if same and ttl_seconds is None else [ExpirySet(write_id=write_id, ttl_seconds=ttl_seconds)]
        case MarkExtracted(extracted=extracted, life=life, cleared_version=cleared_version):
            same = state.opened and (state.life, state.cleared_version) == (life, cleared_version)
            return [extracted] if same else []
        case MarkIndexed(indexed=indexed, life=life):
            return [indexed] if state.opened and state.life == life else []
        case PromoteMemory(promoted=promoted, life=life):
            return [promoted] if state.opened and state.life == life else []
        case _:
            assert_never(command)


def _opened(command: OpenSession) -> SessionOpened:
    return SessionOpened(
        write_id=command.write_id,
        namespace=command.namespace,
        user_id=command.user_id,
        session_id=command.session_id,
        config=config.dump(command.config),
        imported_from=command.imported_from,
        forked_from=command.forked_from,
    )


def _new_entries(entries: tuple[EntryAdded, ...], known: tuple[Entry, ...]) -> list[EntryAdded]:
    """Return the entries that do not exist yet; an id with equal content counts once, also in a batch (http W-65)."""
    if len(entries) == 1 and not known:
        return list(entries)
    seen: dict[str, EntryAdded | Entry] = {entry.entry_id: entry for entry in known}
    new = []
    for entry in entries:
        before = seen.get(entry.entry_id)
        if before is None:
            seen[entry.entry_id] = entry
            new.append(entry)
        elif not same_content(before, entry):
            raise DuplicateEntry(entry.entry_id)
    return new


def same_content(first: EntryAdded | Entry, other: EntryAdded | Entry) -> bool:
    """Tell whether two entries have the same content: role, text, and tool."""
    fields = ("kind", "role", "content", "tool_name", "tool_call_id", "arguments", "data")
    return all(getattr(first, name) == getattr(other, name) for name in fields)


def _active(state: SessionState, entry_id: str) -> Entry:
    entry = state.window.newest(entry_id)
    if entry is None:
        raise EntryNotFound(entry_id)
    return entry


def _edit(state: SessionState, command: EditEntry) -> list[Event]:
    entry = _active(state, command.entry_id)
    role = command.role if command.role not in {None, entry.role} else None
    if command.content == entry.content and role is None:
        return []
    return [
        EntryEdited(
            write_id=command.write_id,
            entry_id=entry.entry_id,
            entry_version=entry.version,
            content=command.content,
            tokens=command.tokens,
            tokens_before=entry.tokens,
            tokenizer=command.tokenizer,
            fallback=command.fallback,
            role=role,
            reads_as_error=reads_as_error(command.content),
        )
    ]
