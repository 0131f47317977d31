"""The window of a session becomes the messages of one agent's state, in one write. Source: adapters LC-2."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ledger.adapters.langchain.stored_messages import SDK
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.transcript import read_transcript
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.entry_writes import answer_to_adding
from ledger.application.writing.tail import removals, staying
from ledger.events.ids import Stream
from ledger.session.commands import AddEntries, ClearSession, Command
from ledger.session.entry_drafts import EntryDraft, draft_entry
from ledger.session.state import SessionState
from projections.entries import Entry


async def show_only(handle: NamespaceHandle, stream: Stream, wanted: Mapping[str, Mapping[str, Any]]) -> int:
    """Let the session have the *wanted* entries, by id, in their order, and return the version at which it has.

    Wanted entries that it has already stay as they are, compacted or edited, as far as their order permits. What other
    programs added stays too. A run with another state may change the window at any time, but not at this version.

    Raises:
        InvalidInput: an entry breaks a rule.
        Unavailable: other writers came first again and again, or the database could not be reached.
    """

    async def commands_for(state: SessionState) -> Sequence[Command]:
        new_life = starts_life(handle, state)
        if new_life and not wanted:
            return []
        stored = [] if new_life else await read_transcript(handle, stream, state, last=None)
        write_id = handle.services.clock.ulid()
        order = arranged(stored, wanted)
        stays = staying([entry.entry_id for entry in stored], order)
        leaving = [entry for entry in stored if entry.entry_id not in stays]
        commands: list[Command] = [*opening_commands(handle, stream, state)]
        if leaving and leaving[0].version <= _last_summarized(state):
            commands.append(ClearSession(write_id))  # a summary tells of what is not in the state, or is elsewhere
            stays = set()
        else:
            commands += removals(state, leaving, write_id)
        known = {entry.entry_id: entry for entry in stored}
        drafts = [
            _again(known[entry_id]) if entry_id in known else draft_entry(wanted[entry_id])
            for entry_id in order
            if entry_id not in stays
        ]
        tokenizer = (handle.services.config if new_life else state.config).tokenizer
        new = [new_entry(handle, draft, write_id, tokenizer) for draft in drafts]
        return [*commands, AddEntries(tuple(new))] if new else commands

    written = await handle.write(stream, commands_for)
    await answer_to_adding(handle, stream, (), written, None)
    return written.version


def arranged(stored: Sequence[Entry], wanted: Collection[str]) -> list[str]:
    """Return the *wanted* ids, and after each those of other programs' entries that are *stored* after it."""
    others: dict[str, list[str]] = {"": []}
    before = ""
    for entry in stored:
        if entry.entry_id in wanted:
            before = entry.entry_id
        elif (entry.metadata or {}).get("sdk") != SDK:
            others.setdefault(before, []).append(entry.entry_id)
    return [*others[""], *(found for entry_id in wanted for found in (entry_id, *others.get(entry_id, ())))]


def _again(entry: Entry) -> EntryDraft:
    """Return what adds *entry* again, with its current text."""
    fields = {name: getattr(entry, name) for name in EntryDraft.__struct_fields__ if name != "tokens"}
    return EntryDraft(**{**fields, "created_at": entry.claimed_at})


def _last_summarized(state: SessionState) -> int:
    """Return the version of the newest entry that a live summary stands for; 0 for none."""
    return max((last for summary in state.summaries.live for _, last in summary.covered), default=0)
