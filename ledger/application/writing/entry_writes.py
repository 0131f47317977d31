"""Add entries, one or a batch."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import msgspec

from ledger.application.commands.write_requests import Decision, Written
from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.writing.added_entries import added_entries, in_draft_order, known_entries
from ledger.application.writing.session_object import data_change
from ledger.application.writing.values_by_digest import keep_once
from ledger.errors import InvalidInput
from ledger.events import EntryAdded, JsonObject, KnownToWriter, ToolStatus
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.indexes.search.knowledge import check_usable
from ledger.results import Added, AddedEntry, ConfigLike, EntryFields
from ledger.session.commands import AddEntries
from ledger.session.entry_drafts import EntryDraft, check_metadata, draft_entry
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.entries import Entry, added
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from projections.tool_pairs import Call

BATCH_ENTRIES = 1_000  # trust N-6


class WindowBefore(msgspec.Struct, frozen=True):
    """The state that a batch was added to: calls that wait for a result, and stored entries by id."""

    waiting: tuple[Call, ...] = ()
    known: Mapping[str, tuple[Entry, AddedEntry]] = {}


async def add_user_message(
    handle: NamespaceHandle, session_id: str, content: str, **fields: Unpack[EntryFields]
) -> AddedEntry:
    """Record a user message. Raises as `add_entries` does."""
    return await _add_one(handle, session_id, {"kind": "message", "role": "user", "content": content}, fields)


async def add_assistant_message(
    handle: NamespaceHandle, session_id: str, content: str, **fields: Unpack[EntryFields]
) -> AddedEntry:
    """Record an assistant message. Raises as `add_entries` does."""
    return await _add_one(handle, session_id, {"kind": "message", "role": "assistant", "content": content}, fields)


async def add_tool_call(
    handle: NamespaceHandle,
    session_id: str,
    tool_name: str,
    arguments: Any = None,
    *,
    tool_call_id: str | None = None,
    **fields: Unpack[EntryFields],
) -> AddedEntry:
    """Record that the assistant called a tool with JSON *arguments*. Raises as `add_entries` does."""
    call = {"kind": "tool_call", "tool_name": tool_name, "arguments": arguments, "tool_call_id": tool_call_id}
    return await _add_one(handle, session_id, call, fields)


async def add_tool_result(
    handle: NamespaceHandle,
    session_id: str,
    tool_name: str,
    result: Any,
    *,
    tool_call_id: str | None = None,
    tool_status: ToolStatus | None = None,
    **fields: Unpack[EntryFields],
) -> AddedEntry:
    """Record the result of a tool, as text or JSON. Raises as `add_entries` does.

    It belongs to the call with the same id or, without an id, to the oldest unanswered call of the tool.
    """
    answer = {
        "kind": "tool_result",
        "tool_name": tool_name,
        "content": result,
        "tool_call_id": tool_call_id,
        "tool_status": tool_status,
    }
    return await _add_one(handle, session_id, answer, fields)


async def add_context(
    handle: NamespaceHandle, session_id: str, content: str, source: str | None = None, **fields: Unpack[EntryFields]
) -> AddedEntry:
    """Record a piece of context, such as a file's text, and its *source*. Raises as `add_entries` does."""
    metadata = check_metadata(fields.get("metadata"))
    if source is not None and not isinstance(source, str):
        raise InvalidInput("wrong_type", "must be text", field="source")
    if source:
        metadata = {**(metadata or {}), "source": source}
    context: JsonObject = {"kind": "context", "content": content}
    return await _add_one(handle, session_id, context, {**fields, "metadata": metadata} if metadata else fields)


async def add_entries(
    handle: NamespaceHandle,
    session_id: str,
    entries: Sequence[Mapping[str, Any] | EntryDraft],
    *,
    idempotency_key: str | None = None,
    expected_version: int | None = None,
    user_id: str | None = None,
    config: ConfigLike | None = None,
) -> Added:
    """Record a batch of 1 to 1,000 entries: all of them, or none.

    An entry that is already stored under its id with equal content is returned, not added again. Compaction may start
    after the batch; it is not waited for. *config* is the memory config of a session that begins with the batch; one
    that is there keeps its own.

    Raises:
        InvalidInput: an entry breaks a rule; *field* says which, e.g. ``entries[57].content``.
        DuplicateEntry: an id is stored with other content.
        VersionConflict: the session is not at *expected_version*.
        Unavailable: the database could not be reached.
    """
    if not isinstance(entries, Sequence):
        raise InvalidInput("wrong_type", "must be a list of entries", field="entries")
    if expected_version is not None:
        check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    if not 1 <= len(entries) <= BATCH_ENTRIES:
        raise InvalidInput(
            "batch_size", f"must have 1 to {BATCH_ENTRIES} entries", field="entries", limit=BATCH_ENTRIES
        )
    drafts = [draft_entry(raw, field=f"entries[{at}]") for at, raw in enumerate(entries)]
    return await add_drafts(
        handle,
        handle.stream(session_id, user_id),
        drafts,
        key=idempotency_key,
        expected_version=expected_version,
        config=None if config is None else check_usable(memory_config.load(config)),
    )


async def _add_one(handle: NamespaceHandle, session_id: str, entry: JsonObject, fields: EntryFields) -> AddedEntry:
    if "expected_version" in fields:
        raise InvalidInput("unknown_field", "only add_entries takes it; use that", field="expected_version")
    own = {name: value for name, value in fields.items() if name not in {"idempotency_key", "user_id"}}
    draft = draft_entry({**entry, **own})
    stream = handle.stream(session_id, fields.get("user_id"))
    added = await add_drafts(handle, stream, [draft], key=fields.get("idempotency_key"))
    return added.entries[0]


async def add_drafts(
    handle: NamespaceHandle,
    stream: Stream,
    drafts: Sequence[EntryDraft],
    *,
    key: str | None = None,
    expected_version: int | None = None,
    config: MemoryConfig | None = None,
    kept: Sequence[KeptDraft] = (),
    data: JsonObject | None = None,
) -> Added:
    """Record *drafts* as `add_entries` does, of which there may be as many as one append takes, with *kept* values.

    The key of each value tells its content, so one that the session has already is not stored again. *data* is the
    session data of a session that begins with them.

    Raises as `add_entries` does.
    """
    ids = [draft.entry_id for draft in drafts if draft.entry_id is not None]

    tries = itertools.count()

    # quoted, or each write would evaluate it
    async def decision_for(state: SessionState) -> "Decision[WindowBefore]":
        write_id = handle.services.clock.ulid()
        new_life = starts_life(handle, state)
        is_unsure = bool(ids) and not new_life
        # usually the ids are new: the append itself looks, and refuses if one is known
        leaves_it_to_append = is_unsure and next(tries) == 0
        known = {} if leaves_it_to_append or not is_unsure else await known_entries(handle, stream, state, ids)
        before = WindowBefore(() if new_life else state.items.waiting, known)
        tokenizer = (config or handle.services.config if new_life else state.config).tokenizer
        entries = [new_entry(handle, draft, write_id, tokenizer) for draft in drafts]
        if expected_version:  # the writer has seen the session up to it (http W-54)
            entries[0] = msgspec.structs.replace(entries[0], listed=KnownToWriter(until=expected_version))
        add = AddEntries(tuple(entries), tuple([entry for entry, _ in known.values()]))
        beside = await keep_once(handle, stream, state, kept, write_id) if kept else []
        change = [data_change(handle, state, data)] if data and new_life else []
        return Decision(
            [*opening_commands(handle, stream, state, config), *beside, add, *change],
            before,
            exact=is_unsure and not leaves_it_to_append,
            items_after=state.cleared_version if leaves_it_to_append else None,
        )

    written, before = await handle.services.commands.write_with_note(
        stream,
        decision_for,
        actor=handle.actor,
        commutes=True,
        expected_version=expected_version,
        idempotency=handle.idempotency(stream, "add_entries", {"entries": drafts}, key),
    )
    return await answer_to_adding(handle, stream, drafts, written, before)


async def answer_to_adding(
    handle: NamespaceHandle, stream: Stream, drafts: Sequence[EntryDraft], written: Written, before: WindowBefore | None
) -> Added:
    """Return what became of *drafts* in a write of theirs, and let what follows from new entries begin."""
    before = before or WindowBefore()
    entries, known = added_entries(written, before.waiting), before.known
    ids: Sequence[str] = () if not written.replayed else [draft.entry_id for draft in drafts if draft.entry_id]
    if ids:
        new = {entry.entry_id for entry in entries}
        known = await known_entries(handle, stream, written.state, [item_id for item_id in ids if item_id not in new])
    version = written.version
    if not written.replayed:
        _notify_added(handle, stream, written)
        if entries:
            await handle.services.compactor.evaluate_added(stream, version, actor=handle.actor)
    return Added(
        session_id=stream.session_id,
        version=version,
        entries=in_draft_order(drafts, entries, known) if known or len(entries) < len(drafts) else entries,
        replayed=written.replayed,
    )


def _notify_added(handle: NamespaceHandle, stream: Stream, written: Written) -> None:
    notifications = handle.services.notifications
    if notifications.has_handler(handle.namespace, "entry:added"):
        for event in written.events:
            if isinstance(event.payload, EntryAdded):
                entry = added(event, event.payload)
                notifications.notify(handle.namespace, "entry:added", stream.session_id, entry)
