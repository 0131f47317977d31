"""Read events with their proofs, and everything that was recorded about one entry.

Source: http W-65, W-67.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec.structs import asdict

from ledger.errors import EntryNotFound, LogCorrupted
from ledger.events import CompactionCompleted, JsonObject, StoredEvent, to_datetime
from ledger.events.chain import ZERO_HASH, check_positions
from ledger.events.codec import UNREADABLE, decode, stored_json
from ledger.events.ids import Stream
from ledger.history.departures import read_clears, read_coverings
from ledger.history.item_history import read_item_events
from ledger.history.origins import Origins
from ledger.ports import Store
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.log.history import PastEntry, PastEntryStatus
from projections.log.item_versions import item_versions

FateStatus: TypeAlias = (
    Literal["shown", "hidden", "evicted_summary", "not_yet"] | Literal["covered", "erased", "removed", "cleared"]
)


_PAYLOAD = msgspec.json.Decoder(JsonObject)


class LoggedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it is stored: its session, its place, its exact payload, and its link in the hash chain."""

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
    #: Whether the actor is what an imported file claims; what starts the session names who imported it.
    actor_claimed: bool = False
    payload: JsonObject
    previous_hash: str
    hash: str

    @property
    def write_id(self) -> str:
        """The id of the write that it is part of."""
        return str(self.payload.get("write_id", ""))


class EntryChange(msgspec.Struct, frozen=True, kw_only=True):
    """An event about an entry, with the text and the role that the entry has from then on."""

    version: int
    event_id: UUID
    type: str
    recorded_at: datetime
    actor: str
    actor_claimed: bool = False
    content: str
    role: str


class EntryFate(msgspec.Struct, frozen=True, kw_only=True):
    """Why an entry is, or is not, in the window at a version: one cause, and the *version* of the event that caused it.

    An entry whose summary was dropped too is ``evicted_summary``; one that was added later is ``not_yet``. *reasons*
    are those of the compaction with this *key*.
    """

    status: FateStatus
    version: int | None
    sentence: str
    actor: str | None = None
    key: str | None = None
    summary_id: str | None = None
    reasons: tuple[str, ...] = ()


class EntryRecord(PastEntry, frozen=True, kw_only=True, gc=False):
    """An entry as it is now or was at a version, its status and its history; entries that share an id have one history.

    *session_version* is the session's when this was read. *left_version* is that of the event that took it from the
    window. An entry that was added after the version asked for is ``not_yet`` there.
    """

    status: PastEntryStatus | Literal["not_yet"] = "active"  # type: ignore[assignment]  # nothing assigns to it
    history: tuple[EntryChange, ...]
    session_version: int
    left_version: int | None = None
    fate: EntryFate | None = None


async def read_feed(store: Store, namespace_id: UUID, namespace: str, *, after: int, limit: int) -> list[LoggedEvent]:
    """Return up to *limit* events of a namespace after position *after*, in position order.

    Raises:
        LogCorrupted: a position is missing.
    """
    stored = await store.events.read_namespace(namespace_id, after=after, limit=limit)
    check_positions(stored, after=after)
    names = await store.events.named(namespace_id, sorted({event.stream_id for event in stored})) if stored else {}
    origins = await Origins.of(store, namespace_id, stored)
    hashes: dict[tuple[UUID, int], str] = {(event.stream_id, event.version): event.hash.hex() for event in stored}
    events = []
    for event in stored:
        user_id, session_id = names[event.stream_id]
        before = (event.stream_id, event.version - 1)
        if before not in hashes:
            hashes[before] = await _hash_at(store, Stream.of(namespace, session_id, user_id), event.version - 1)
        events.append(logged(event, user_id, session_id, hashes[before], origins))
    return events


async def read_entry(
    store: Store, stream: Stream, state: SessionState, entry_id: str, *, until: int | None = None
) -> EntryRecord:
    """Return everything recorded about an entry, up to version *until*; *state* is that of the session there.

    Raises:
        EntryNotFound: the session never had such an entry.
    """
    events = await read_item_events(store, stream, [entry_id])
    history = [
        (version, version.item) for version in item_versions(map(decode, events)) if isinstance(version.item, Entry)
    ]
    if not history:
        raise EntryNotFound(entry_id, ever=False)
    known = [pair for pair in history if until is None or pair[0].event.version <= until]
    if not known:
        later = asdict(history[0][1])
        return EntryRecord(**later, status="not_yet", history=(), session_version=state.version)
    origins = await Origins.of(store, stream.namespace_id, events)
    claimed = {event.version for event in events if origins.is_claimed(event)}
    changes = tuple(
        EntryChange(
            version=version.event.version,
            event_id=version.event.event_id,
            type=version.event.type,
            recorded_at=version.event.recorded_at,
            actor=version.event.actor,
            actor_claimed=version.event.version in claimed,
            content=entry.content,
            role=entry.role,
        )
        for version, entry in known
    )
    newest, entry = known[-1]
    status, summaries, left = await _fate(store, stream, state, entry, removed=newest.removed)
    return EntryRecord(
        **asdict(entry),
        status=status,
        summary_ids=summaries,
        history=changes,
        session_version=state.version,
        left_version=newest.event.version if newest.removed else left,
    )


async def _fate(
    store: Store, stream: Stream, state: SessionState, entry: Entry, *, removed: bool
) -> tuple[PastEntryStatus, tuple[str, ...], int | None]:
    if removed:
        return "removed", (), None
    if entry.version <= state.cleared_version:
        clears = await read_clears(store, stream, after=entry.version, until=state.version)
        return "cleared", (), clears[0] if clears else state.cleared_version
    status: PastEntryStatus = "active"
    summary_ids: tuple[str, ...] = ()
    left = None
    coverings = await read_coverings(store, stream, [entry.version], until=state.version)
    for event in coverings[entry.version]:
        if isinstance(payload := event.payload, CompactionCompleted):
            summary_ids += (payload.summary_id,) if payload.summary_id else ()
            if payload.effect != "overlay":
                status, left = "erased" if payload.effect == "erase" else "covered", event.version
    return status, summary_ids, left


async def _hash_at(store: Store, stream: Stream, version: int) -> str:
    stored: Sequence[StoredEvent] = await store.events.read_versions(stream, ((version, version),)) if version else ()
    return (stored[0].hash if stored else ZERO_HASH).hex()


def logged(event: StoredEvent, user_id: str, session_id: str, previous_hash: str, origins: Origins) -> LoggedEvent:
    """Return *event*, of this session, with the hash of the event before it."""
    payload: JsonObject = {}
    if not event.is_erased:
        try:
            payload = _PAYLOAD.decode(stored_json(event))
        except (LogCorrupted, *UNREADABLE) as fault:
            raise LogCorrupted(f"event {event.version} of {session_id!r} cannot be read: {fault}") from fault
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
        actor_claimed=origins.is_claimed(event),
        payload=payload,
        previous_hash=previous_hash,
        hash=event.hash.hex(),
    )
