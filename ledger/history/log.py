"""Events with their proofs, and everything that was recorded about one entry, as they stand in the log.

Source: http W-65, W-67.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from ledger.chain import ZERO_HASH
from ledger.codec import decode, stored_json
from ledger.errors import EntryNotFound, SessionNotFound
from ledger.events import JsonObject, StoredEvent, to_datetime
from ledger.history.entries import read_entry_versions
from ledger.ids import Stream
from ledger.ports import Store
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.history import HISTORY, PastEntryStatus

PAGE_EVENTS: Final = 1_000
MOST_LOOKED_AT: Final = 10_000  # of a page that is asked for by type


class LoggedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it is stored: whose it is, its place, its exact payload, and its link in the chain."""

    session_id: str
    user_id: str
    version: int
    position: int
    event_id: UUID
    type: str
    schema_version: int
    occurred_at: datetime
    recorded_at: datetime
    actor: str
    payload: JsonObject
    previous_hash: str
    hash: str

    @property
    def write_id(self) -> str:
        """The write that it is part of."""
        return str(self.payload.get("write_id", ""))


class LogPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the log; *next_after* goes on after it, none at the end."""

    events: tuple[LoggedEvent, ...]
    next_after: int | None
    version: int


class EntryChange(msgspec.Struct, frozen=True, kw_only=True):
    """One event about an entry, with the text and the role it had from then on."""

    version: int
    event_id: UUID
    type: str
    recorded_at: datetime
    actor: str
    content: str
    role: str


class EntryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as it is now, what became of it, and how it came to be so; ids that came twice go on in one history."""

    entry: Entry
    status: PastEntryStatus
    summary_ids: tuple[str, ...]
    history: tuple[EntryChange, ...]
    version: int


async def read_log(store: Store, stream: Stream, *, after: int, limit: int, type: str | None) -> LogPage:
    """Return up to *limit* events of a session after version *after*; of one *type*, if given.

    Raises:
        SessionNotFound: the session has no events.
    """
    version, _ = await store.events.head(stream)
    if not version:
        raise SessionNotFound(stream.session_id)
    found: list[StoredEvent] = []
    previous: dict[int, str] = {}
    reached = after
    while reached < version and len(found) < limit and reached - after < MOST_LOOKED_AT:
        size = min(limit - len(found) if type is None else PAGE_EVENTS, PAGE_EVENTS)
        page = await store.events.read_stream(stream, after=reached, until=version, limit=size)
        if not page:
            break
        for event in page:
            previous[event.version + 1] = event.hash.hex()
            if type in {None, event.type}:
                found.append(event)
            reached = event.version
            if len(found) == limit:
                break
    if found and found[0].version not in previous:
        before = found[0].version - 1
        stored = await store.events.read_versions(stream, ((before, before),)) if before else []
        previous[found[0].version] = (stored[0].hash if stored else ZERO_HASH).hex()
    events = tuple(_logged(event, stream.user_id, stream.session_id, previous[event.version]) for event in found)
    return LogPage(events=events, next_after=reached if reached < version else None, version=version)


async def read_feed(store: Store, namespace_id: UUID, namespace: str, *, after: int, limit: int) -> list[LoggedEvent]:
    """Return up to *limit* events of a namespace after position *after*, in position order."""
    stored = await store.events.read_namespace(namespace_id, after=after, limit=limit)
    names = await store.events.named(namespace_id, sorted({event.stream_id for event in stored})) if stored else {}
    hashes: dict[tuple[UUID, int], str] = {(event.stream_id, event.version): event.hash.hex() for event in stored}
    events = []
    for event in stored:
        user_id, session_id = names[event.stream_id]
        before = (event.stream_id, event.version - 1)
        if before not in hashes:
            hashes[before] = await _hash_at(store, Stream.of(namespace, session_id, user_id), event.version - 1)
        events.append(_logged(event, user_id, session_id, hashes[before]))
    return events


async def read_entry(store: Store, stream: Stream, state: SessionState, entry_id: str) -> EntryRecord:
    """Return everything recorded about an entry.

    Raises:
        EntryNotFound: it never was in the session.
    """
    history = (await read_entry_versions(store, stream, [entry_id])).get(entry_id, [])
    if not history:
        raise EntryNotFound(entry_id, ever=False)
    changes = tuple(
        EntryChange(
            version=each.event.version,
            event_id=each.event.event_id,
            type=each.event.type,
            recorded_at=each.event.recorded_at,
            actor=each.event.actor,
            content=each.entry.content,
            role=each.entry.role,
        )
        for each in history
    )
    entry, removed = history[-1].entry, history[-1].removed
    status, summaries = await _fate(store, stream, state, entry, removed=removed)
    return EntryRecord(entry=entry, status=status, summary_ids=summaries, history=changes, version=state.version)


async def _fate(
    store: Store, stream: Stream, state: SessionState, entry: Entry, *, removed: bool
) -> tuple[PastEntryStatus, tuple[str, ...]]:
    if removed:
        return "removed", ()
    if entry.version <= state.cleared_version:
        return "cleared", ()
    events = await store.events.read_stream(stream, after=entry.version - 1, until=state.version)
    (past,) = HISTORY.fold(map(decode, events)).within(((entry.version, entry.version),))
    return past.status, past.summary_ids


async def _hash_at(store: Store, stream: Stream, version: int) -> str:
    stored: Sequence[StoredEvent] = await store.events.read_versions(stream, ((version, version),)) if version else ()
    return (stored[0].hash if stored else ZERO_HASH).hex()


def _logged(event: StoredEvent, user_id: str, session_id: str, previous_hash: str) -> LoggedEvent:
    payload: JsonObject = {}
    if event.payload is not None:
        payload = msgspec.json.decode(stored_json(event.codec, event.payload))
    return LoggedEvent(
        session_id=session_id,
        user_id=user_id,
        version=event.version,
        position=event.position,
        event_id=event.event_id,
        type=event.type,
        schema_version=event.schema_version,
        occurred_at=to_datetime(event.occurred_us),
        recorded_at=to_datetime(event.recorded_us),
        actor=event.actor,
        payload=payload,
        previous_hash=previous_hash,
        hash=event.hash.hex(),
    )
