"""Rows of the session index, from a state or from the row before. Pure.

Most sessions only grow, and the row after a new entry follows from the row before it. So a listing reads no state of
them. What a compaction or an edit leaves does not follow from a row: then the state is read.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import replace

from ledger.errors import InvalidInput
from ledger.events import (
    CompactionDiscarded,
    CompactionRequested,
    ContextRendered,
    DataChanged,
    EntriesExtracted,
    EntriesIndexed,
    EntryAdded,
    KeptRemoved,
    KeptSet,
    MemoryAdded,
    MemoryEdited,
    MemoryPromoted,
    MemoryRemoved,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
    StoredEvent,
    to_datetime,
)
from ledger.events.ids import Stream
from ledger.ports.session_index import IndexedSession
from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from ledger.session.views import failing_of
from projections.memory_config import config

#: Events that change no number of a row.
_UNCOUNTED: Final = (
    CompactionDiscarded,
    CompactionRequested,
    DataChanged,
    EntriesExtracted,
    EntriesIndexed,
    KeptRemoved,
    KeptSet,
    MemoryAdded,
    MemoryEdited,
    MemoryPromoted,
    MemoryRemoved,
)


def row_of(stream: Stream, state: SessionState) -> IndexedSession:
    """Return the index row of a session in *state*."""
    state = end_of_batch(state)
    failing = failing_of(state)
    return IndexedSession(
        stream_id=stream.stream_id,
        user_id=stream.user_id,
        session_id=stream.session_id,
        version=state.version,
        status="live" if state.opened else "ended",
        created_at=to_datetime(state.created_us),
        updated_at=to_datetime(state.updated_us),
        expires_at=state.working.expires_at,
        entries=state.counts.added,
        active=len(state.window.entries),
        summaries=len(state.summaries.live),
        total_tokens=state.window.tokens + state.summaries.tokens,
        active_tokens=state.window.tokens,
        failed_compactions=failing.times,
        last_failure=failing.last,
        failing_since=failing.since,
        failing_model=failing.model,
    )


def unreadable_row(stream: Stream, before: IndexedSession | None, events: Sequence[StoredEvent]) -> IndexedSession:
    """Return the row of a session that this release cannot fold, so that the list stays complete."""
    return IndexedSession(
        stream_id=stream.stream_id,
        user_id=stream.user_id,
        session_id=stream.session_id,
        version=events[-1].version,
        status="unreadable",
        created_at=before.created_at if before else to_datetime(events[0].recorded_us),
        updated_at=to_datetime(events[-1].recorded_us),
        entries=0,
        active=0,
        summaries=0,
        total_tokens=0,
        active_tokens=0,
    )


def next_row(stream: Stream, before: IndexedSession | None, events: Iterable[RecordedEvent]) -> IndexedSession | None:
    """Return the row after *events*, or None if only the session's state tells it.

    *before* is the row before them; None if the session has none. Events that it contains are ignored.
    """
    if before is None:
        before = IndexedSession(
            stream_id=stream.stream_id,
            user_id=stream.user_id,
            session_id=stream.session_id,
            version=0,
            status="ended",
            created_at=to_datetime(0),
            updated_at=to_datetime(0),
            entries=0,
            active=0,
            summaries=0,
            total_tokens=0,
            active_tokens=0,
        )
    elif (
        before.status == "unreadable" or before.summaries or before.failed_compactions or before.expires_at is not None
    ):
        return None
    version, status, created_at = before.version, before.status, before.created_at
    updated_us: int | None = None
    entries, active, tokens = before.entries, before.active, before.total_tokens
    for event in events:
        if event.version <= before.version:
            continue
        if event.version != version + 1:
            return None
        version, payload = event.version, event.payload
        if isinstance(payload, ContextRendered):  # reading is not a change
            continue
        match payload:
            case EntryAdded():
                entries, active, tokens = entries + 1, active + 1, tokens + payload.tokens
            case SessionOpened(forked_from=None) if _is_readable(msgspec.json.encode(payload.config)):
                status, created_at = "live", to_datetime(event.recorded_us)
                entries = active = tokens = 0
            case SessionCleared(ended=ended):
                status = "ended" if ended else status
                entries = active = tokens = 0
            case _ if not isinstance(payload, _UNCOUNTED):
                return None
        updated_us = event.recorded_us
    return replace(
        before,
        version=version,
        status=status,
        created_at=created_at,
        updated_at=before.updated_at if updated_us is None else to_datetime(updated_us),
        entries=entries,
        active=active,
        total_tokens=tokens,
        active_tokens=tokens,
    )


@lru_cache(maxsize=256)
def _is_readable(raw: bytes) -> bool:
    """Tell whether this release can read the memory config in *raw*; most sessions have the same."""
    try:
        config.load(msgspec.json.decode(raw))
    except InvalidInput:
        return False
    return True
