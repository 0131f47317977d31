"""Add entries and change the session data in one write, for adapters that keep a value beside a transcript."""

import itertools
from collections.abc import Callable, Sequence

from ledger.application.added_entries import known_entries
from ledger.application.handle import NamespaceHandle
from ledger.application.kept_by_digest import keep_once
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writes import Decision
from ledger.events import JsonObject
from ledger.session.commands import AddEntries, ChangeData
from ledger.session.drafts import EntryDraft
from ledger.session.kept_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.config import MemoryConfig


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
) -> int:
    """Add those *drafts* whose ids are not stored yet, and set whole keys of the session data; return the version.

    *data_after* gets the session data and the indexes of the drafts that are new, and returns the keys to set. It is
    called again if another writer was first. A session that begins has *config*. If no draft is new, nothing is
    written. Drafts without an id need an *idempotency_key*, or they are added once more if the call is repeated. The
    *kept* values, whose keys tell their content, are stored with them, those that the session has already not again.

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
        entries = tuple(new_entry(handle, drafts[number], write_id, own.tokenizer) for number in new)
        changed = data_after({} if new_life else state.working.data, new)
        return Decision(
            [
                *opening_commands(handle, stream, state, config),
                *(await keep_once(handle, stream, state, kept, write_id) if kept else ()),
                AddEntries(entries),
                *([ChangeData(write_id, changed, begins=new_life)] if changed else []),
            ],
            None,
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
