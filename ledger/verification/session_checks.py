"""Replay a session, and compare with what is stored of it: snapshots, its row in the index, jobs, searchable pieces."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from ledger.errors import LedgerError
from ledger.events import StoredEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.snapshots import SESSIONS
from ledger.history.state_loading import States
from ledger.indexes.jobs.due import WorkPlan, due_jobs
from ledger.indexes.jobs.job_index import BACKLOGS
from ledger.indexes.stored_projections.session_rows import row_of
from ledger.indexes.stored_projections.session_runs import runs_of
from ledger.ports import Store, StreamHead
from ledger.ports.derived_rows import IndexedPart
from ledger.ports.job_queue import SessionJobs
from ledger.ports.search_index import StreamChange
from ledger.ports.session_index import IndexedSession
from ledger.session.evolve import end_of_batch
from ledger.session.fast_fold import SESSION_IN_RUNS
from ledger.session.state import SessionState
from ledger.verification.live_builds import LiveBuild
from projections.log.backlog import BACKLOG, Backlog
from projections.values.ranges import ranges_of
from projections.words import searchable_text
from projections.words.searchable_text import PieceLife

_PAGE: Final = 1_000  # events
_CHARACTERS: Final = 4_000_000  # of pieces that are compared in one statement


class FoldedSession(NamedTuple):
    """A session folded from its first event, and the changes that its own events make to what search finds."""

    head: StreamHead
    stream: Stream
    position: int
    state: SessionState
    backlog: Backlog
    changes: list[StreamChange]
    runs: Mapping[str, int]


class WrongRows(NamedTuple):
    """A session of which the rows of *build*, or its snapshots, are not what the replay gives at *version*."""

    head: StreamHead
    build: LiveBuild | None
    version: int


async def replayed(store: Store, namespace: str, head: StreamHead) -> tuple[FoldedSession | None, list[WrongRows]]:
    """Return the replay of a session, None if this release cannot read it, and its wrong snapshots."""
    stream = Stream.of(namespace, head.session_id, head.user_id)
    forms = (SESSIONS.projection, BACKLOGS.projection)
    newest = [await store.snapshots.load(stream, form.name, form.version) for form in forms]
    stops = sorted({head.version, *(found.version for found in newest if found and found.version <= head.version)})
    replay = FoldedSession(head, stream, 0, SESSION_IN_RUNS.initial, BACKLOG.initial, [], {})
    wrong: list[WrongRows] = []
    try:
        for stop in stops:
            while replay.state.version < stop:
                page = await store.events.read_stream(stream, after=replay.state.version, limit=_PAGE)
                events = [event for event in page if event.version <= stop]
                if not events:
                    return None, wrong  # written and rolled back meanwhile
                replay = await _after(store, replay, events)
            if any(found and found.version == stop for found in newest) and not await _is_read(store, replay):
                wrong.append(WrongRows(head, None, stop))
    except LedgerError:  # of a newer release
        return None, wrong
    return replay, wrong


async def _after(store: Store, replay: FoldedSession, stored: Sequence[StoredEvent]) -> FoldedSession:
    events = [decode(event) for event in stored]
    own = [event for event, of in zip(events, stored, strict=True) if of.stream_id == replay.head.stream_id]
    stream_id = replay.head.stream_id
    runs = runs_of(event for event in stored if event.stream_id == stream_id)
    earlier = {event.version: event for event in events}
    before = sorted({version for event in own for version in searchable_text.needs(event)} - earlier.keys())
    read = await store.events.read_versions(replay.stream, ranges_of(before)) if before else []
    earlier |= {event.version: event for event in map(decode, read)}
    replay.changes.extend(
        StreamChange(stream_id, event.version, change)
        for event in own
        for change in searchable_text.changes(event, searchable_text.pieces_again(event, earlier))
    )
    return replay._replace(
        position=own[-1].position if own else replay.position,
        state=SESSION_IN_RUNS.fold(events, replay.state),
        backlog=BACKLOG.fold(events, replay.backlog),
        runs={**runs, **replay.runs},
    )


async def _is_read(store: Store, replay: FoldedSession) -> bool:
    """Tell whether readers of the session at this version, who use its snapshots, get the same states."""
    version = replay.state.version
    session = await States(store, SESSIONS, capacity=1).at(replay.stream, version=version)
    backlog = await States(store, BACKLOGS, capacity=1).at(replay.stream, version=version)
    return end_of_batch(session) == end_of_batch(replay.state) and backlog == replay.backlog


async def differences(store: Store, builds: Sequence[LiveBuild], replays: Sequence[FoldedSession]) -> list[WrongRows]:
    """Return where the rows of *builds* are not those of *replays*, as far as they are folded into the builds."""
    found: list[WrongRows] = []
    for build in builds:
        folded = [replay for replay in replays if replay.position <= build.position]
        if folded:
            wrong = await _wrong(store, build, folded)
            found += [WrongRows(each.head, build, each.head.version) for each in folded if each.head.stream_id in wrong]
    return found


async def _wrong(store: Store, build: LiveBuild, replays: Sequence[FoldedSession]) -> set[UUID]:
    own = replays[0].stream.namespace_id
    match build.projection:
        case "session_index":
            keys = [(own, build.key, replay.head.stream_id) for replay in replays]
            rows, runs = await store.session_index.rows(keys), await store.session_index.runs(keys)
            return {
                replay.head.stream_id
                for replay in replays
                if not _has_row(replay, rows) or runs.get(replay.head.stream_id, {}) != replay.runs
            }
        case "jobs":
            plan = WorkPlan(index_all=bool(build.variant))
            jobs = [SessionJobs(each.stream, due_jobs(each.state, each.backlog, plan)) for each in replays]
            return await store.derived.wrong_jobs(own, build.key, jobs)
        case "search":
            return await _wrong_pieces(store, build, replays)
        case _:
            return set()


def _has_row(replay: FoldedSession, rows: Mapping[UUID, IndexedSession]) -> bool:
    row = rows.get(replay.head.stream_id)
    if row is not None and row.status == "unreadable":  # an older release could not read it; readers read it again
        return True
    return row == row_of(replay.stream, replay.state)


async def _wrong_pieces(store: Store, build: LiveBuild, replays: Sequence[FoldedSession]) -> set[UUID]:
    namespace_id = replays[0].stream.namespace_id
    wrong: set[UUID] = set()
    some: list[IndexedPart] = []
    characters = 0
    for replay in replays:
        for part in _parts(replay):
            some.append(part)
            characters += sum(len(life.piece.text) for life in part.pieces)
            if characters > _CHARACTERS:
                wrong |= await store.derived.wrong_pieces(namespace_id, build.key, some, language=build.language)
                some, characters = [], 0
    wrong |= await store.derived.wrong_pieces(namespace_id, build.key, some, language=build.language)
    streams = [replay.head.stream_id for replay in replays]
    changes = [change for replay in replays if replay.head.parent_id for change in replay.changes]
    return wrong | await store.derived.wrong_forks(namespace_id, build.key, streams, changes)


def _parts(replay: FoldedSession) -> Iterator[IndexedPart]:
    """Yield what search should have of a session's own events, in parts that have not too many characters."""
    stream_id, after = replay.head.stream_id, 0
    some: list[PieceLife] = []
    characters = 0
    own = searchable_text.lives((change.version, change.change) for change in replay.changes)
    for life in sorted(own, key=lambda life: life.piece.version):
        if characters > _CHARACTERS and life.piece.version > some[-1].piece.version:
            yield IndexedPart(stream_id, after, some[-1].piece.version, tuple(some))
            after, some, characters = some[-1].piece.version, [], 0
        some.append(life)
        characters += len(life.piece.text)
    yield IndexedPart(stream_id, after, replay.head.version, tuple(some))
