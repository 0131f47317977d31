"""Import export files: a whole file in one transaction, each event once. Source: trust E-12."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from ledger.errors import InvalidInput, SessionExists
from ledger.events import (
    CompactionFailed,
    CompactionRequested,
    Event,
    NewEvent,
    OpaqueEvent,
    SessionOpened,
    StoredEvent,
)
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.names import NO_SESSIONS, named_stream, stored_stream
from ledger.formats.export.copying import copied
from ledger.formats.export.file_lines import Head
from ledger.formats.export.file_reader import Contents, check, checked_before, ending_of
from ledger.ports import AppendRequest, Clock, Store, StreamWrite
from ledger.ports.event_encoding import append_request

REQUEST_EVENTS: Final = 500

#: Reads a file from its beginning, line by line; called again for each pass.
Lines = Callable[[], Iterable[bytes]]


class ImportNote(msgspec.Struct, frozen=True, kw_only=True):
    """What an import has to say of *session_id* at *line* of the file.

    *kind* is ``rewind``: the agent went on from an earlier point; ``window_not_known``: from here on the log does not
    say what the agent sent; ``not_understood``: a message, or a part of it, is not shown; ``role_guessed``: the file
    does not say who speaks; ``call_without_result``; ``result_without_call``; ``without_content``: a span or run says
    nothing of its messages; or ``left_out``: it is no entry. The entry of the line, if it has one and the kind is not
    about what comes later, has the same in its metadata, under ``import_note``.
    """

    session_id: str
    line: int
    kind: str
    text: str


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import: sessions in the file, entries added, and entries skipped as already stored.

    *other_lines* counts the added entries that are lines of other types than messages: they are recorded, and no
    window shows them. *users* has the user of each session of an export file that has one, by session. *notes* say
    where a window may be another than the agent had. *reread* names the sessions that were read again, as this version
    reads the file.
    """

    sessions: int
    entries: int
    skipped: int
    session_ids: tuple[str, ...] = ()
    other_lines: Mapping[str, int] = msgspec.field(default_factory=dict)
    users: Mapping[str, str] = msgspec.field(default_factory=dict)
    notes: tuple[ImportNote, ...] = ()
    reread: tuple[str, ...] = ()


class Rereadable:
    """An iterable that can be read several times."""

    def __init__(self, iterate: Callable[[], Iterator[AppendRequest]]) -> None:
        self._iterate = iterate

    def __iter__(self) -> Iterator[AppendRequest]:
        return self._iterate()


class FileImport:
    """Imports export files into one namespace."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        namespace: str,
        actor: str,
        check_event: Callable[[Event | OpaqueEvent], None],
    ) -> None:
        """*actor* imports, and *check_event* refuses events that they may not write."""
        self._store = store
        self._clock = clock
        self._namespace = namespace
        self._actor = actor
        self._check_event = check_event

    async def export(self, lines: Lines, *, session_id: str | None, user_id: str | None) -> Imported:
        """Copy the sessions of an export file, after checking every line.

        A session that exists already, as the original or as a copy from this file, is skipped.

        Raises:
            ImportRefused: the file was changed.
            SessionExists: a session of that name has other events.
            InvalidInput: one name was given for several sessions.
        """
        contents = check(lines())
        heads = contents.sessions
        sessions = [head for head in heads if head.session_id not in NO_SESSIONS]
        if session_id is not None and len(heads) > 1:
            raise InvalidInput(
                "several_sessions", f"must not be given: the file holds {len(heads)} sessions", field="session"
            )
        if session_id is not None and not sessions:
            raise InvalidInput("no_session", "must not be given: the file holds no session", field="session")
        places = {head.stream_id: self._target(head, session_id, user_id) for head in heads}
        missing = {head.stream_id for head in heads if not await self._exists(places[head.stream_id], head, contents)}
        if len({places[stream_id] for stream_id in missing}) < len(missing):
            raise InvalidInput(
                "several_sessions",
                "must not be given: several sessions of the file would get the same name",
                field="user",
            )
        if contents.header.session in missing:  # the copy of a fork has the whole history in its own stream
            missing = set(contents.entries)
            places = dict.fromkeys(missing, next(iter(places.values())))
        added = sum(contents.entries[stream_id] for stream_id in missing)
        if missing:
            await self._store.events.append_all(Rereadable(lambda: self._copies(lines, contents, missing, places)))
        owners = [(session_id or head.session_id, head.user_id if user_id is None else user_id) for head in sessions]
        return Imported(
            sessions=len(sessions),
            entries=added,
            skipped=sum(contents.entries.values()) - added,
            session_ids=tuple(name for name, _ in owners),
            users={name: owner for name, owner in owners if owner},
        )

    def _target(self, head: Head, session_id: str | None, user_id: str | None) -> Stream:
        """Return the stream that a stream of the file becomes."""
        named = stored_stream if head.session_id in NO_SESSIONS else named_stream
        return named(self._namespace, session_id or head.session_id, head.user_id if user_id is None else user_id)

    async def _exists(self, target: Stream, head: Head, contents: Contents) -> bool:
        version, _ = await self._store.events.head(target)
        if not version:
            return False
        _, forked_at = contents.header.parents.get(head.stream_id, (None, 0))
        firsts = ((1, 1), (forked_at + 1, forked_at + 1)) if forked_at else ((1, 1),)
        for stored in await self._store.events.read_versions(target, firsts):
            first = decode(stored).payload
            origin = first.imported_from if isinstance(first, SessionOpened) else None
            if origin is not None and (origin.ledger_id, origin.head_hash) == (
                str(contents.header.ledger_id),
                head.hash,
            ):
                return True
        at_head = await self._store.events.read_versions(target, ((head.version, head.version),))
        if target.stream_id == head.stream_id and at_head and at_head[0].hash.hex() == head.hash:
            return True
        if head.session_id in NO_SESSIONS and at_head and ending_of(at_head[0]) == contents.ends[head.stream_id]:
            return True  # it has no opening that names its origin, but the salt makes content unique
        raise SessionExists(target.session_id)

    def _copies(
        self, lines: Lines, contents: Contents, missing: Collection[UUID], places: Mapping[UUID, Stream]
    ) -> Iterator[AppendRequest]:
        """Yield the events of the missing streams, a few hundred of one stream to a request."""
        heads = {head.stream_id: head for head in contents.trailer.heads}
        run: list[StoredEvent] = []
        for event in checked_before(lines(), contents):
            if event.stream_id not in missing:
                continue
            if run and (run[-1].stream_id != event.stream_id or len(run) == REQUEST_EVENTS):
                yield self._copy(run, contents, heads, places)
                run = []
            run.append(event)
        if run:
            yield self._copy(run, contents, heads, places)
        if contents.header.session is not None and contents.header.session in missing:
            missing = {contents.header.session}
        for stream_id in contents.running.keys() & missing:
            yield self._abandon(contents.running[stream_id], places[stream_id], heads[stream_id].version)

    def _abandon(self, running: Sequence[CompactionRequested], target: Stream, version: int) -> AppendRequest:
        """Return the end of compactions that ran in the ledger that exported them: none runs in this one."""
        write_id = self._clock.ulid()
        failed = [
            CompactionFailed(
                write_id=write_id,
                compaction_id=asked.compaction_id,
                key=asked.key,
                reason="abandoned",
                detail="it was running when its session was exported",
            )
            for asked in running
        ]
        return append_request(target, failed, expected_version=version, clock=self._clock, actor=self._actor)

    def _copy(
        self, run: Sequence[StoredEvent], contents: Contents, heads: Mapping[UUID, Head], places: Mapping[UUID, Stream]
    ) -> AppendRequest:
        header, stream_id = contents.header, run[0].stream_id
        target, head = places[stream_id], heads[header.session or stream_id]
        parent: Stream | None = None
        if header.session is None and stream_id in header.parents:
            parent_id, forked_at = header.parents[stream_id]
            parent = places[parent_id] if run[0].version == forked_at + 1 else None
        names_origin = target.session_id not in NO_SESSIONS  # only an opening says what is claimed
        events = []
        for event in run:
            self._check_event(decode(event).payload)
            structure = copied(event, source=header, head=head, target=target, parent=parent)
            events.append(
                NewEvent(
                    self._clock.event_id(),
                    event.type,
                    event.schema_version,
                    event.codec,
                    event.occurred_us,
                    event.actor if names_origin and event.type != SessionOpened.type else self._actor,
                    structure,
                    event.content,
                    event.item_id,
                    event.key_id,
                    event.key_commitment,
                )
            )
        before = run[0].version - 1
        write = (
            StreamWrite(stream=target, events=tuple(events), expected_version=before)
            if parent is None
            else StreamWrite(stream=target, events=tuple(events), forked_from=(parent, before))
        )
        return AppendRequest(writes=(write,))
