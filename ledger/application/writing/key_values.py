"""Store values beside the window: opaque, by space and key. Source: adapters LF-1.

Neither the window nor token counts nor search see them.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, Unpack

from ledger.application.commands.write_requests import Decision
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.added_entries import known_entries
from ledger.application.writing.tail import staying
from ledger.errors import InvalidInput
from ledger.events import KeptRemoved, KeptSet
from ledger.events.limits import EVENTS_PER_APPEND
from ledger.events.strict_json import check_flag, check_integer
from ledger.results import Guard, KeptBatch
from ledger.session.commands import AddEntries, ClearSession, Command, Keep, RemoveEntry
from ledger.session.entry_drafts import EntryDraft, draft_entry
from ledger.session.key_value_drafts import KeptDraft, draft_kept
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig

_MOST_REMOVED: Final = 10_000  # with an event for each; a write has room for others, too


async def keep(
    handle: NamespaceHandle,
    session_id: str,
    values: Sequence[Mapping[str, Any] | KeptDraft],
    *,
    entries: Sequence[Mapping[str, Any] | EntryDraft] = (),
    only_entries: bool = False,
    config: Mapping[str, Any] | MemoryConfig | None = None,
    **guard: Unpack[Guard],
) -> KeptBatch:
    """Store values beside the window, each under a key of a space, and *entries*, in one write.

    A value is ``{"space": …, "key": …, "value": …}``, JSON or bytes; ``"removed": True`` instead of a value hides the
    one that is there. The newest value of a key is the one that is read. An entry whose id the window has is not added
    again; with *only_entries*, the window has those of the list afterwards, in its order, and what it has already stays
    as it is, even if it was edited. *config* is that of a session that begins. The values of a session stay when it is
    cleared, and end with its life.

    Raises:
        InvalidInput: a value or an entry breaks a rule; *field* says which, e.g. ``values[3].key``; ``batch_size``:
            it has more that is new than a write may have events.
        DuplicateEntry: an id is stored with other content.
        VersionConflict: the session is not at *expected_version*.
    """
    if not isinstance(values, Sequence):
        raise InvalidInput("wrong_type", "must be a list of values", field="values")
    check_flag(only_entries, field="only_entries")
    if len(values) > EVENTS_PER_APPEND or not (values or entries or only_entries):
        message = f"must have 1 to {EVENTS_PER_APPEND} values, or entries"
        raise InvalidInput("batch_size", message, field="values", limit=EVENTS_PER_APPEND)
    kept = [draft_kept(raw, field=f"values[{at}]") for at, raw in enumerate(values)]
    drafts = [draft_entry(raw, field=f"entries[{at}]") for at, raw in enumerate(entries)]
    chosen = None if config is None else memory_config.load(config)
    if chosen is not None:
        handle.rights.check_config(chosen, known=handle.services.config)
    stream = handle.stream(session_id, guard.get("user_id"))
    ids = [draft.entry_id for draft in drafts if draft.entry_id is not None]

    tries = itertools.count()

    async def decision_for(state: SessionState) -> "Decision[None]":
        write_id = handle.services.clock.ulid()
        new_life = starts_life(handle, state)
        is_unsure = bool(ids) and not new_life
        # usually the ids are new: the append itself looks, and refuses if one is known
        leaves_it_to_append = is_unsure and not only_entries and next(tries) == 0
        known = {} if leaves_it_to_append or not is_unsure else await known_entries(handle, stream, state, ids)
        commands: list[Command] = [*opening_commands(handle, stream, state, chosen)]
        if only_entries and not new_life:
            active = [entry.entry_id for entry in state.window.entries]
            stays = staying(active, ids)
            if (
                len(active) - len(stays) > _MOST_REMOVED
            ):  # one event each: so that there is room for others in the write
                stays = set()
                commands.append(ClearSession(write_id))
            else:
                commands += [RemoveEntry(write_id, entry_id) for entry_id in active if entry_id not in stays]
            leaving = set(active) - stays
            known = {entry_id: found for entry_id, found in known.items() if entry_id not in leaving}
        if drafts:
            tokenizer = ((chosen or handle.services.config) if new_life else state.config).tokenizer
            as_it_is = known if only_entries else {}
            new = tuple(
                new_entry(handle, draft, write_id, tokenizer) for draft in drafts if draft.entry_id not in as_it_is
            )
            commands.append(AddEntries(new, tuple(entry for entry, _ in known.values())))
        commands.append(Keep(tuple(draft.to_event(write_id) for draft in kept)))
        return Decision(
            commands,
            None,
            exact=only_entries or (is_unsure and not leaves_it_to_append),
            items_after=state.cleared_version if leaves_it_to_append else None,
        )

    expected_version = guard.get("expected_version")
    if expected_version is not None:
        check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    body = {"values": [draft.to_event("") for draft in kept], "entries": drafts, "only_entries": only_entries}
    written, _ = await handle.services.commands.write_with_note(
        stream,
        decision_for,
        actor=handle.actor,
        commutes=not only_entries,
        expected_version=expected_version,
        idempotency=handle.idempotency(stream, "keep", body, guard.get("idempotency_key")),
    )
    if drafts and not written.replayed:
        await handle.services.compactor.evaluate_added(stream, written.version, actor=handle.actor)
    events = zip(written.events, written.receipts, strict=True)
    versions = tuple(receipt.version for event, receipt in events if isinstance(event.payload, KeptSet | KeptRemoved))
    return KeptBatch(
        session_id=stream.session_id,
        version=written.version,
        first_version=written.receipts[0].version if written.receipts else written.version + 1,
        versions=versions,
        replayed=written.replayed,
    )
