"""Check that the events of a file are a history that writers could have written: an import accepts what verifies.

Of each stream it has the entries since the last clear, by version, and the running compactions: some 350 bytes for
each entry. Source: trust E-12, I-68.
"""

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from ledger.events import (
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    OpaqueEvent,
    Ranges,
    ReturnedEntry,
    SessionCleared,
    SessionOpened,
    StoredEvent,
)
from ledger.events.ids import Stream
from ledger.formats.export.file_lines import Header
from ledger.session.legal_lives import Lives

_TOKEN_BITS: Final = 63
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class _KnownEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry: its id and tokens in a number, its role, and digests of what edits change and of what stays."""

    packed: int
    role: str
    text: int
    fixed: int


class _Followed(msgspec.Struct, gc=False):
    """Entries by version; compactions that run, by id."""

    entries: dict[int, _KnownEntry] = msgspec.field(default_factory=dict)
    running: dict[str, CompactionRequested] = msgspec.field(default_factory=dict)


class Histories:
    """Follows the streams of a file, event by event, each stream in version order."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._lives = Lives()
        self._sessions: dict[UUID, _Followed] = {}
        #: What forks continue from, copied when it has come.
        self._points: dict[tuple[UUID, int], dict[int, _KnownEntry]] = {}
        self._event_ids: set[int] = set()

    def fork(self, stream_id: UUID, point: tuple[UUID, int]) -> None:
        """Begin a stream that continues another one at *point*, which has come before."""
        self._sessions[stream_id] = _Followed(entries=dict(self._points[point]))

    def remember(self, point: tuple[UUID, int]) -> None:
        """Keep the newest stream of *point* as it is now, for forks."""
        self._points[point] = dict(self._session(point[0]).entries)

    def running(self) -> Mapping[UUID, tuple[CompactionRequested, ...]]:
        """Return the compactions without an outcome, by stream."""
        return {
            stream_id: tuple(found.running.values()) for stream_id, found in self._sessions.items() if found.running
        }

    def problem(self, event: StoredEvent, payload: Event | OpaqueEvent) -> str | None:
        """Return why no writer could have written *event* after those before it in its stream, or None."""
        number = event.event_id.int
        if number in self._event_ids:
            return "its event id occurs twice"
        self._event_ids.add(number)
        return self._lives.problem(event) or self._follow(event, payload)

    def _session(self, stream_id: UUID) -> _Followed:
        found = self._sessions.get(stream_id)
        if found is None:
            found = self._sessions[stream_id] = _Followed()
        return found

    def _follow(self, event: StoredEvent, payload: Event | OpaqueEvent) -> str | None:
        session = self._session(event.stream_id)
        match payload:
            case EntryAdded():
                session.entries[event.version] = _known(payload, payload.created_at)
            case EntryEdited(entry_version=version):
                known = session.entries.get(version)
                if known is None or known.packed != _packed(payload.entry_id, payload.tokens_before):
                    return f"it edits entry {version}, which has another id or other tokens"
                session.entries[version] = _edited(known, payload, event.version)
            case EntryRemoved(entry_version=version):
                known = session.entries.pop(version, None)
                if known is None or known.packed != _packed(payload.entry_id, payload.tokens):
                    return f"it removes entry {version}, which has another id or other tokens"
            case EntriesReturned(entries=back):
                for each in back:
                    found = _known(each, each.claimed_at, each.edited_version)
                    if session.entries.get(each.version) != found:
                        return f"it brings entry {each.version} back, which is not so in its session"
            case SessionOpened():
                return self._open(event, payload, session)
            case SessionCleared():
                session.entries.clear()
            case CompactionRequested() | CompactionCompleted() | CompactionFailed() | CompactionDiscarded():
                return _compact(session, payload)
            case _:
                pass
        return None

    def _open(self, event: StoredEvent, payload: SessionOpened, session: _Followed) -> str | None:
        named = Stream.of(payload.namespace, payload.session_id, payload.user_id)
        if (named.namespace, named.stream_id) != (self._header.namespace, event.stream_id):
            return "it opens a session of another name"
        session.running.clear()
        if payload.forked_from is None:
            session.entries.clear()
        _, forked_at = self._header.parents.get(event.stream_id, (None, None))
        if payload.forked_from is None or event.version - 1 == forked_at:  # the reader compares the names of a parent
            return None
        # a copy of a fork has the whole history in its own stream
        is_copy = payload.imported_from is not None and payload.forked_from.version == event.version - 1
        return None if is_copy else "it names a parent that the header does not"


def _compact(
    session: _Followed, payload: CompactionRequested | CompactionCompleted | CompactionFailed | CompactionDiscarded
) -> str | None:
    if isinstance(payload, CompactionRequested):
        running = session.running
        if payload.compaction_id in running or any(each.key == payload.key for each in running.values()):
            return "it requests a compaction that is running already"
        running[payload.compaction_id] = payload
        return None if payload.effect == "overlay" else _missing(session, payload.covered)
    asked = session.running.pop(payload.compaction_id, None)
    if isinstance(payload, CompactionCompleted) and payload.method == "imported" and asked is None:
        return None if payload.effect == "overlay" else _missing(session, payload.covered)
    if asked is None or asked.key != payload.key:
        return "it is the outcome of a compaction that was not running"
    if isinstance(payload, CompactionCompleted) and (payload.covered, payload.folds) != (asked.covered, asked.folds):
        return "it compacts other entries than were requested"
    return None


def _missing(session: _Followed, covered: Ranges) -> str | None:
    for ends in covered:
        for version in ends:
            if version not in session.entries:
                return f"it compacts entry {version}, which its session does not show"
    return None


def _known(
    entry: EntryAdded | ReturnedEntry, claimed_at: datetime | None, edited_version: int | None = None
) -> _KnownEntry:
    fixed = (entry.write_id, entry.kind, entry.data, entry.tool_name, entry.tool_call_id, entry.tool_status)
    beside = (entry.arguments, claimed_at, entry.metadata, entry.listed)
    return _KnownEntry(
        packed=_packed(entry.entry_id, entry.tokens),
        role=sys.intern(entry.role),
        text=_digest((entry.content, entry.tokenizer, entry.fallback, edited_version)),
        fixed=_digest((*fixed, *beside)),
    )


def _edited(known: _KnownEntry, payload: EntryEdited, version: int) -> _KnownEntry:
    """Return what is known of an entry after an edit, as `projections.entries.edited` folds it."""
    return _KnownEntry(
        packed=_packed(payload.entry_id, payload.tokens),
        role=sys.intern(payload.role or known.role),
        text=_digest((payload.content, payload.tokenizer, payload.fallback, version)),
        fixed=known.fixed,
    )


def _digest(values: tuple[object, ...]) -> int:
    return hash(_encoder.encode(values))


def _packed(entry_id: str, tokens: int) -> int:
    return hash(entry_id) << _TOKEN_BITS | tokens
