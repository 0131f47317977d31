"""Edit and remove entries; with a removed entry goes the rest of its answer. Source: R-GEN-8."""

from collections.abc import Iterable, Sequence
from typing import Unpack

import msgspec

from ledger.application.commands.write_requests import CommandsFor
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import resuming_commands, starts_life
from ledger.errors import EntryCovered, EntryNotFound
from ledger.events.ids import Stream
from ledger.events.names import check_entry_id
from ledger.history.log_reads import read_entry
from ledger.llm.tokenizers import TOKENIZERS
from ledger.results import Guard, Version
from ledger.session.commands import Command, EditEntry, RemoveEntry
from ledger.session.entry_drafts import check_content, check_filled
from ledger.session.state import SessionState
from ledger.session.views import answer_with_entry
from projections.entries import Entry


async def edit_entry(
    handle: NamespaceHandle, session_id: str, entry_id: str, content: str, **guard: Unpack[Guard]
) -> Version:
    """Replace the text of an active entry and return the session's version; the old text stays in history.

    Raises:
        EntryNotFound: the session has no such entry, or has removed it.
        EntryCovered: a summary stands for the entry.
        VersionConflict: the session is not at *expected_version*.
        InvalidInput: the text is too large, or blank where text is required.
    """
    check_content(content)

    async def commands_for(state: SessionState) -> Sequence[Command]:
        entry = None if starts_life(handle, state) else state.window.newest(entry_id)
        if entry is None:
            raise EntryNotFound(entry_id)
        check_filled(content, entry.kind)
        edited = msgspec.structs.replace(entry, content=content, data=None)  # a request carries the new text alone
        count = TOKENIZERS[state.config.tokenizer].count(edited)
        edit = EditEntry(
            write_id=handle.services.clock.ulid(),
            entry_id=entry_id,
            content=content,
            tokens=count.tokens,
            tokenizer=count.tokenizer,
            fallback=count.fallback,
        )
        return [*resuming_commands(handle, state), edit]

    stream = handle.stream(session_id, guard.get("user_id"))
    return await _change(handle, stream, commands_for, "edit_entry", guard, entry_id=entry_id, content=content)


async def remove_entry(handle: NamespaceHandle, session_id: str, entry_id: str, **guard: Unpack[Guard]) -> Version:
    """Remove an active entry from the window and return the session's version; the entry stays in history.

    With it go the rest of its answer and the results of its calls: providers refuse a request with a part of them.

    Raises:
        EntryNotFound: the session has no such entry, or has removed it.
        EntryCovered: a summary stands for the entry.
        VersionConflict: the session is not at *expected_version*.
    """

    async def commands_for(state: SessionState) -> Sequence[Command]:
        if starts_life(handle, state):
            raise EntryNotFound(entry_id)
        return [*resuming_commands(handle, state), *whole_removals(handle, state, [entry_id])]

    stream = handle.stream(session_id, guard.get("user_id"))
    return await _change(handle, stream, commands_for, "remove_entry", guard, entry_id=entry_id)


async def _change(
    handle: NamespaceHandle, stream: Stream, commands_for: CommandsFor, operation: str, guard: Guard, **body: str
) -> Version:
    check_entry_id(body["entry_id"], field="entry_id")
    try:
        written = await handle.change(stream, commands_for, operation, body, guard)
    except EntryNotFound:
        await _refuse_covered(handle, stream, body["entry_id"])
        raise
    return Version(written.version, replayed=written.replayed)


async def _refuse_covered(handle: NamespaceHandle, stream: Stream, entry_id: str) -> None:
    state = await handle.services.states.newest(stream)
    if starts_life(handle, state):
        return
    entry = await read_entry(handle.services.store, stream, state, entry_id)
    if entry.status == "covered":
        raise EntryCovered(entry_id)


def whole_removals(handle: NamespaceHandle, state: SessionState, entry_ids: Iterable[str]) -> list[Command]:
    """Return the commands, of one write, that remove active entries of *state*, each with the rest of its answer.

    Raises:
        EntryNotFound: the window has no such entry.
    """
    leaving: dict[int, Entry] = {}
    for entry_id in entry_ids:
        entry = state.window.newest(entry_id)
        if entry is None:
            raise EntryNotFound(entry_id)
        if entry.version not in leaving:
            leaving.update((each.version, each) for each in answer_with_entry(state, entry))
    write_id = handle.services.clock.ulid()
    return [RemoveEntry(write_id, leaving[version].entry_id) for version in sorted(leaving)]
