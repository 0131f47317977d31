"""Add entries and change the session data in one write, for adapters that keep a value beside a transcript."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from ledger.application.commands.write_requests import Decision
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.added_entries import known_entries
from ledger.application.writing.values_by_digest import keep_once
from ledger.events import CompactionCompleted, EntryAdded, JsonObject
from ledger.session.commands import AddEntries, ChangeData, FollowAgent
from ledger.session.entry_drafts import EntryDraft
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.memory_config.config import MemoryConfig

#: Gets the indexes of the new drafts, their entries, the version of the first of these, and the state before them;
#: returns the entries as they are to be added, and what leaves the window after that.
Follow: TypeAlias = Callable[
    [Sequence[int], Sequence[EntryAdded], int, SessionState],
    Awaitable[tuple[Sequence[EntryAdded], Sequence[CompactionCompleted]]],
]


async def add_entries_with_data(
    handle: NamespaceHandle,
    session_id: str,
    drafts: Sequence[EntryDraft],
    data_after: Callable[[JsonObject, Sequence[int]], JsonObject],
    *,
    user_id: str | None = None,
    config: MemoryConfig | None = None,
    idempotency_key: str | None = None,
    kept: Sequence[KeptDraft] = (),
    follow: Follow | None = None,
) -> int:
    """Add those *drafts* whose ids are not stored yet, and set whole keys of the session data; return the version.

    *data_after* gets the session data and the indexes of the drafts that are new, and returns the keys to set. It is
    called again if another writer was first. A session that begins has *config*. If no draft is new, nothing is
    written. Drafts without an id need an *idempotency_key*, or they are added once more if the call is repeated. The
    *kept* values, whose keys tell their content, are stored with them, those that the session has already not again.
    With *follow*, the same write takes entries out of the window, as the agent did.

    Raises:
        InvalidInput: an entry or the data is over a limit.
        Unavailable: the database could not be reached.
    """
    stream = handle.stream(session_id, user_id)
    ids = [draft.entry_id for draft in drafts if draft.entry_id is not None]
    tries = itertools.count()

    async def decision_for(state: SessionState) -> "Decision[None]":
        new_life = starts_life(handle, state)
        is_unsure = bool(ids) and not new_life
        # usually the ids are new: the append itself looks, and refuses if one is known
        leaves_it_to_append = is_unsure and next(tries) == 0
        looks = is_unsure and not leaves_it_to_append
        seen = set(await known_entries(handle, stream, state, ids)) if looks else set()
        new: list[int] = []
        for number, draft in enumerate(drafts):
            if draft.entry_id is None or draft.entry_id not in seen:
                new.append(number)
                seen |= {draft.entry_id} if draft.entry_id else set()
        if not new:
            return Decision([], None)
        write_id = handle.services.clock.ulid()
        own = (config or handle.services.config) if new_life else state.config
        opening = opening_commands(handle, stream, state, config)
        keep = await keep_once(handle, stream, state, kept, write_id) if kept else ()
        entries: Sequence[EntryAdded] = [new_entry(handle, drafts[at], write_id, own.tokenizer) for at in new]
        left: Sequence[CompactionCompleted] = ()
        if follow is not None:
            first = state.version + len(opening) + sum(len(each.events) for each in keep) + 1
            entries, left = await follow(new, entries, first, SessionState() if new_life else state)
        changed = data_after({} if new_life else state.working.data, new)
        return Decision(
            [
                *opening,
                *keep,
                AddEntries(tuple(entries)),
                *([FollowAgent(tuple(left))] if left else []),
                *([ChangeData(write_id, changed, begins=new_life)] if changed else []),
            ],
            None,
            exact=bool(left),  # which names versions
            items_after=state.cleared_version if leaves_it_to_append else None,
        )

    cached = await handle.services.states.known(stream)  # if it is not the newest, the append refuses
    written, _ = await handle.services.commands.write_with_note(
        stream,
        decision_for,
        actor=handle.actor,
        state=cached,
        idempotency=handle.idempotency(stream, "add_entries_with_data", {"entries": drafts}, idempotency_key),
    )
    return written.version
