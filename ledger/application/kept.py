"""Values that the ledger keeps beside the window: opaque, by space and key. Source: adapters LF-1.

Neither the window nor token counts nor search see them. The store finds them by an index, so that reading one costs the
same in a session that has thousands.
"""

import itertools
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Unpack

from ledger.application.added_entries import known_entries
from ledger.application.handle import NamespaceHandle
from ledger.application.reading import check_when
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.application.tail import staying
from ledger.application.writes import Decision
from ledger.codec import decode
from ledger.errors import InvalidInput
from ledger.events import KeptRemoved, KeptSet, RecordedEvent, SessionCleared, SessionOpened, StoredEvent
from ledger.events.kept import SEPARATOR
from ledger.ids import Stream
from ledger.names import text_after
from ledger.results import Guard, KeptBatch, KeptValue, When
from ledger.session.commands import AddEntries, Command, Keep, RemoveEntry
from ledger.session.drafts import EntryDraft, draft_entry
from ledger.session.kept_drafts import KeptDraft, check_key, check_space, draft_kept
from ledger.session.state import SessionState
from ledger.strict_json import check_flag, check_integer
from projections import config as memory_config
from projections import ranges
from projections.config import MemoryConfig

MOST_KEPT: Final = 10_000
#: Less than every character that a key may have.
_LEAST: Final = "\x01"


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
        InvalidInput: a value or an entry breaks a rule; *field* says which, e.g. ``values[3].key``.
        DuplicateEntry: an id is stored with other content.
        VersionConflict: the session is not at *expected_version*.
    """
    if not isinstance(values, Sequence):
        raise InvalidInput("wrong_type", "must be a list of values", field="values")
    check_flag(only_entries, field="only_entries")
    if len(values) + len(entries) > MOST_KEPT or not (values or entries or only_entries):
        message = f"must have 1 to {MOST_KEPT} values and entries"
        raise InvalidInput("batch_size", message, field="values", limit=MOST_KEPT)
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
            leaving = [entry_id for entry_id in active if entry_id not in stays]
            commands += [RemoveEntry(write_id, entry_id) for entry_id in leaving]
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
        commutes=True,
        expected_version=expected_version,
        idempotency=handle.idempotency(stream, "keep", body, guard.get("idempotency_key")),
    )
    if drafts and not written.replayed:
        await handle.services.compactor.evaluate_added(stream, written.version, actor=handle.actor)
    events = zip(written.events, written.receipts, strict=True)
    versions = tuple(receipt.version for event, receipt in events if isinstance(event.payload, KeptSet | KeptRemoved))
    return KeptBatch(
        session_id=stream.session_id, version=written.version, versions=versions, replayed=written.replayed
    )


async def get_kept(
    handle: NamespaceHandle, session_id: str, space: str, key: str, **when: Unpack[When]
) -> KeptValue | None:
    """Return the newest value of a key; None if it has none, or it was removed.

    Raises:
        SessionNotFound, VersionNotFound: the session has no such version.
        InvalidInput: ``bad_space``, ``bad_key``, or as `get_state` does.
    """
    item_id = f"{check_space(space)}{SEPARATOR}{check_key(key)}"
    found = await _find(handle, session_id, when, item_id, item_id + _LEAST)
    return found[0] if found else None


async def get_kept_values(
    handle: NamespaceHandle, session_id: str, space: str, keys: Sequence[str], **when: Unpack[When]
) -> dict[str, KeptValue]:
    """Return the newest value of each of *keys* that has one, by key. Raises as `get_kept` does."""
    begin = f"{check_space(space)}{SEPARATOR}"
    items = {f"{begin}{check_key(key)}" for key in keys}
    stored = await read_items_of_life(handle, session_id, items, -1, when)
    return {
        event.payload.key: KeptValue.of(event, event.payload) for event in stored if isinstance(event.payload, KeptSet)
    }


async def read_items_of_life(
    handle: NamespaceHandle, session_id: str, item_ids: Collection[str], place: int, when: When
) -> list[RecordedEvent]:
    """Return one event about each item that the life of the session has: at *place* 0 the oldest, at -1 the newest."""
    version, moment = check_when(when)
    stream, events = handle.stream(session_id, when.get("user_id")), handle.services.store.events
    until = await _until(handle, stream, version, moment)
    after = await _start_of_life(handle, stream, until)
    if after is None or not item_ids:
        return []
    known = await events.find_items(stream, sorted(item_ids))
    seen = [[at for at in versions if after < at and (until is None or at <= until)] for versions in known.values()]
    chosen = ranges.ranges_of(sorted(versions[place] for versions in seen if versions))
    return [decode(event) for event in await events.read_versions(stream, chosen)]


async def list_kept(
    handle: NamespaceHandle,
    session_id: str,
    space: str,
    *,
    prefix: str = "",
    after: str | None = None,
    before: str | None = None,
    greatest_first: bool = False,
    limit: int = 100,
    every: bool = False,
    **when: Unpack[When],
) -> list[KeptValue]:
    """Return the newest value of each key of a space, in the order of keys by code point.

    Only keys that begin with *prefix*, and are greater than *after* and smaller than *before*; the *greatest_first* is
    the newest one where keys grow with time. With *every*, all values that each key had since it was last removed,
    the oldest first. Nothing for an unknown session.

    Raises:
        SessionNotFound, VersionNotFound: the session has no such version.
        InvalidInput: ``bad_space``, ``bad_key``, ``bad_limit``, or as `get_state` does.
    """
    begin = f"{check_space(space)}{SEPARATOR}"
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_KEPT)
    first = begin + check_key(prefix, field="prefix", may_be_empty=True)
    end = text_after(first)
    if after is not None:
        first = max(first, begin + check_key(after, field="after") + _LEAST)
    if before is not None:
        end = min(end, begin + check_key(before, field="before"))
    return await _find(handle, session_id, when, first, end, greatest_first=greatest_first, limit=limit, every=every)


async def _find(
    handle: NamespaceHandle,
    session_id: str,
    when: When,
    first: str,
    end: str,
    *,
    greatest_first: bool = False,
    limit: int = 1,
    every: bool = False,
) -> list[KeptValue]:
    version, moment = check_when(when)
    stream, events = handle.stream(session_id, when.get("user_id")), handle.services.store.events
    until = await _until(handle, stream, version, moment)
    after = await _start_of_life(handle, stream, until)
    if after is None:
        return []
    found: list[StoredEvent] = []
    while len(found) < limit:
        wanted = None if every else limit - len(found)
        page = await events.read_kept(
            stream,
            first=first,
            end=end,
            after=after,
            until=until,
            greatest_first=greatest_first,
            limit=wanted,
            every=every,
        )
        found += _since_removed(page) if every else [event for event in page if event.type == KeptSet.type]
        if wanted is None or len(page) < wanted:
            break
        if greatest_first:
            end = page[-1].item_id or ""
        else:
            first = f"{page[-1].item_id}{_LEAST}"
    values = []
    for event in map(decode, found[:limit]):
        assert isinstance(event.payload, KeptSet)
        values.append(KeptValue.of(event, event.payload))
    return values


async def _until(handle: NamespaceHandle, stream: Stream, version: int | None, moment: datetime | None) -> int | None:
    events = handle.services.store.events
    if moment is not None:
        return await events.version_at(stream, moment)
    if version is not None:
        head, _ = await events.head(stream)
        if version > head or version < 1:
            raise await handle.services.states.absence(stream)
    return version


async def _start_of_life(handle: NamespaceHandle, stream: Stream, until: int | None) -> int | None:
    """Return the version at which the life began; None if it has ended, or there is none."""
    events, states = handle.services.store.events, handle.services.states
    if until is None and states.folded(stream) is not None:
        state = await states.newest(stream)
        return state.began if state.opened else None
    opened = await events.find_types(stream, [SessionOpened.type, SessionCleared.type], until=until)
    for event in map(decode, reversed(await events.read_versions(stream, ranges.ranges_of(opened)))):
        if isinstance(event.payload, SessionCleared) and event.payload.ended:
            return None
        if isinstance(event.payload, SessionOpened) and event.payload.forked_from is None:
            return event.version
    return None


def _since_removed(events: Sequence[StoredEvent]) -> list[StoredEvent]:
    removed = {event.item_id: event.version for event in events if event.type == KeptRemoved.type}
    return [event for event in events if event.version > removed.get(event.item_id, 0)]
