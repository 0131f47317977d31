"""The window of a session becomes the messages of one agent's state, in one write. Source: adapters LC-2."""

from collections import defaultdict
from collections.abc import Sequence

from ledger.adapters.langchain.stored_messages import SDK
from ledger.application.entries import answer_to_adding
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.transcript import read_transcript
from ledger.ids import Stream
from ledger.session.commands import AddEntries, ClearSession, Command, RemoveEntry
from ledger.session.drafts import EntryDraft
from ledger.session.state import SessionState
from projections.entries import Entry


async def show_only(handle: NamespaceHandle, stream: Stream, wanted: Sequence[EntryDraft]) -> int:
    """Let the session have the *wanted* entries, in their order, and return the version at which it has.

    Wanted entries that it has already stay as they are, compacted or edited, as far as their order permits. What other
    programs added stays too. A run with another state may change the window at any time, but not at this version.

    Raises:
        Unavailable: other writers came first again and again, or the database could not be reached.
    """

    async def commands_for(state: SessionState) -> Sequence[Command]:
        new_life = starts_life(handle, state)
        if new_life and not wanted:
            return []
        stored = [] if new_life else await read_transcript(handle, stream, state, last=None)
        write_id = handle.services.clock.ulid()
        leaving, adding = changes(stored, wanted)
        commands: list[Command] = [*opening_commands(handle, stream, state)]
        if leaving and leaving[0].version <= _last_summarized(state):
            commands.append(ClearSession(write_id))  # a summary tells of what is not in the state, or is elsewhere
            adding = arranged(stored, wanted)
        else:
            compacted = [None if state.window.at(entry.version) else entry for entry in leaving]
            commands += [RemoveEntry(write_id, *each) for each in zip(_ids(leaving), compacted, strict=True)]
        tokenizer = (handle.services.config if new_life else state.config).tokenizer
        new = [new_entry(handle, draft, write_id, tokenizer) for draft in adding]
        return [*commands, AddEntries(tuple(new))] if new else commands

    written = await handle.write(stream, commands_for)
    await answer_to_adding(handle, stream, (), written, None)
    return written.version


def changes(stored: Sequence[Entry], wanted: Sequence[EntryDraft]) -> tuple[list[Entry], list[EntryDraft]]:
    """Return which *stored* entries have to leave and what is added then, so that the order is the `arranged` one."""
    place = {entry.entry_id: at for at, entry in enumerate(stored)}
    order = arranged(stored, wanted)
    staying: set[str | None] = set()
    last = -1
    for draft in order:
        at = place.get(draft.entry_id or "", -1)
        if at <= last:
            break
        staying.add(draft.entry_id)
        last = at
    leaving = [entry for entry in stored if entry.entry_id not in staying]
    return leaving, [draft for draft in order if draft.entry_id not in staying]


def arranged(stored: Sequence[Entry], wanted: Sequence[EntryDraft]) -> list[EntryDraft]:
    """Return the *wanted* entries, each as it is *stored*, and after it those that other programs added there."""
    ids = {draft.entry_id for draft in wanted}
    known = {entry.entry_id: entry for entry in stored}
    others = defaultdict[str | None, list[EntryDraft]](list)
    before = None
    for entry in stored:
        if entry.entry_id in ids:
            before = entry.entry_id
        elif (entry.metadata or {}).get("sdk") != SDK:
            others[before].append(_again(entry))
    found = others[None]
    for draft in wanted:
        found += [_again(known[draft.entry_id]) if draft.entry_id in known else draft, *others[draft.entry_id]]
    return found


def _again(entry: Entry) -> EntryDraft:
    """Return what adds *entry* again, with its current text."""
    fields = {name: getattr(entry, name) for name in EntryDraft.__struct_fields__ if name != "tokens"}
    return EntryDraft(**{**fields, "created_at": entry.claimed_at})


def _ids(entries: Sequence[Entry]) -> list[str]:
    return [entry.entry_id for entry in entries]


def _last_summarized(state: SessionState) -> int:
    """Return the version of the newest entry that a live summary stands for; 0 for none."""
    return max((last for summary in state.summaries.live for _, last in summary.covered), default=0)
