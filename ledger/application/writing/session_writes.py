"""Write to several sessions of the namespace at once."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ledger.application.commands.write_requests import Decision, SessionPart
from ledger.application.handle import NamespaceHandle, check_guard
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.added_entries import known_entries
from ledger.application.writing.entry_writes import BATCH_ENTRIES, WindowBefore, answer_to_adding
from ledger.application.writing.session_object import check_keys_to_set, data_change
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.events.ids import Stream
from ledger.indexes.search.knowledge import check_usable
from ledger.results import Added, Guard, SessionWrite
from ledger.session.commands import AddEntries, Command
from ledger.session.entry_drafts import EntryDraft, draft_entry
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig

MOST_SESSIONS: Final = 100


class _CheckedWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One of the writes, checked."""

    stream: Stream
    drafts: tuple[EntryDraft, ...]
    data: JsonObject
    removed: tuple[str, ...]
    expected_version: int | None
    config: MemoryConfig | None

    def body(self) -> JsonObject:
        """Return what a repeated request must have, too."""
        names = {"user_id": self.stream.user_id, "session_id": self.stream.session_id}
        return {**names, "entries": self.drafts, "data": self.data, "remove_data": self.removed}


async def write_sessions(
    handle: NamespaceHandle, writes: Sequence[SessionWrite], *, idempotency_key: str | None = None
) -> list[Added]:
    """Record entries and data of 1 to 100 sessions, all or nothing; return what each got, in the same order.

    Together they have at most 1,000 entries. Entries are recorded as by `add_entries`, and keys of the session data are
    set whole, as by `set_data`. A session that is not there begins.

    Raises:
        InvalidInput: a write breaks a rule; *field* says which, e.g. ``writes[1].entries[0].content``.
        DuplicateEntry: an id is stored with other content.
        VersionConflict: a session is not at its *expected_version*.
        Unavailable: the database could not be reached.
    """
    # adapters LF-6
    if not isinstance(writes, Sequence) or not 1 <= len(writes) <= MOST_SESSIONS:
        message = f"must be a list of 1 to {MOST_SESSIONS} writes"
        raise InvalidInput("batch_size", message, field="writes", limit=MOST_SESSIONS)
    checked = [_checked(handle, write, f"writes[{at}]") for at, write in enumerate(writes)]
    streams = [write.stream for write in checked]
    if len(set(streams)) < len(streams):
        raise InvalidInput("bad_value", "must name each session once; put its entries into one write", field="writes")
    if sum(len(write.drafts) for write in checked) > BATCH_ENTRIES:
        message = f"must have at most {BATCH_ENTRIES} entries together"
        raise InvalidInput("batch_size", message, field="writes", limit=BATCH_ENTRIES)
    # a retry may name the sessions in another order
    anchor = min(streams, key=lambda stream: stream.stream_id)
    body = sorted((write.body() for write in checked), key=canonical_json)
    answers = await handle.services.commands.write_sessions(
        [_part(handle, write) for write in checked],
        actor=handle.actor,
        idempotency=handle.idempotency(anchor, "write_sessions", body, idempotency_key),
    )
    return [
        await answer_to_adding(handle, write.stream, write.drafts, written, before)
        for write, (written, before) in zip(checked, answers, strict=True)
    ]


def _checked(handle: NamespaceHandle, write: SessionWrite, field: str) -> _CheckedWrite:
    if not isinstance(write, Mapping):
        raise InvalidInput("wrong_type", "must be an object", field=field)
    if unknown := write.keys() - SessionWrite.__annotations__.keys():
        known = ", ".join(SessionWrite.__annotations__)
        raise InvalidInput("unknown_field", f"must be one of {known}", field=f"{field}.{min(unknown)[:80]}")
    if "session_id" not in write:
        raise InvalidInput("missing_field", "is required", field=f"{field}.session_id")
    guard: Guard = {"expected_version": write.get("expected_version")}
    entries, config = write.get("entries", ()), write.get("config")
    if not isinstance(entries, Sequence):
        raise InvalidInput("wrong_type", "must be a list of entries", field=f"{field}.entries")
    names = f"{field}.data", f"{field}.remove_data"
    data, removed = check_keys_to_set(write.get("data", {}), write.get("remove_data", ()), fields=names)
    if not (entries or data or removed):
        raise InvalidInput("missing_field", "must have entries or data", field=field)
    chosen = None if config is None else check_usable(memory_config.load(config))
    if chosen is not None:
        handle.rights.check_config(chosen, known=handle.services.config)
    return _CheckedWrite(
        stream=handle.stream(write["session_id"], write.get("user_id")),
        drafts=tuple(draft_entry(raw, field=f"{field}.entries[{at}]") for at, raw in enumerate(entries)),
        data=data,
        removed=removed,
        expected_version=check_guard(guard)[0],
        config=chosen,
    )


def _part(handle: NamespaceHandle, write: _CheckedWrite) -> SessionPart[WindowBefore]:
    ids = [draft.entry_id for draft in write.drafts if draft.entry_id is not None]

    async def decision_for(state: SessionState) -> Decision[WindowBefore]:
        write_id, new_life = handle.services.clock.ulid(), starts_life(handle, state)
        known = {} if new_life or not ids else await known_entries(handle, write.stream, state, ids)
        commands: list[Command] = [*opening_commands(handle, write.stream, state, write.config)]
        if write.drafts:
            tokenizer = (write.config or handle.services.config if new_life else state.config).tokenizer
            entries = tuple(new_entry(handle, draft, write_id, tokenizer) for draft in write.drafts)
            commands.append(AddEntries(entries, tuple(entry for entry, _ in known.values())))
        if write.data or write.removed:
            commands.append(data_change(handle, state, write.data, write.removed))
        return Decision(commands, WindowBefore(() if new_life else state.items.waiting, known))

    return SessionPart(stream=write.stream, decision_for=decision_for, expected_version=write.expected_version)
