"""States as bytes, by reference: a snapshot names the events its entries and summaries come from.

It copies no content: it stays small, and content that is erased from the log is in no snapshot. To read a snapshot,
read the events that it names too; those of entries only when their page is read.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ledger.events import (
    CompactionCompleted,
    CompactionRequested,
    ContextSet,
    DataChanged,
    DiscardReason,
    Extraction,
    JsonObject,
    MemoryAdded,
    MemoryEdited,
    Ranges,
    RecordedEvent,
    ToolStatus,
)
from ledger.history.snapshot_format import SnapshotFormat, json_format
from ledger.history.state_size import session_size_b
from ledger.session.fast_fold import SESSION_IN_RUNS
from ledger.session.state import SessionState
from ledger.session.views import adding_may_wait
from projections import window
from projections.compactions import Compactions, Failures, InFlight
from projections.entry_page import SMALL, EntryPage, PageFacts
from projections.items import Items
from projections.memory_config import config
from projections.paged_entries import PagedEntries
from projections.rebuilds import Rebuild
from projections.records.summary_views import VIEWS
from projections.stats import Counts
from projections.strategies import COMPACTIONS
from projections.summaries import LiveSummaries, summary_context, summary_of
from projections.values import ranges
from projections.working_memory import EntryFlags, Memory, WorkingMemory, memory_edited, memory_of


class _Flight(msgspec.Struct, frozen=True):
    version: int
    seen_entries: int
    spoiled: DiscardReason | None


class _Working(msgspec.Struct, frozen=True, omit_defaults=True):
    """The working memory: keys and memories by the versions of their events."""

    data: tuple[tuple[int, tuple[str, ...]], ...] = ()
    memories: tuple[tuple[int, int | None, int], ...] = ()
    ttl_seconds: int | None = None
    touched_us: int = 0
    extraction: Extraction = Extraction()
    tokens: int = 0
    flags: EntryFlags = EntryFlags()
    contexts: tuple[str, ...] = ()


class _Stored(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session's state with versions in place of contents."""

    version: int
    write_id: str
    opened: bool
    cleared_version: int
    life: int
    began: int
    created_us: int
    updated_us: int
    config: msgspec.Raw
    pages: tuple[PageFacts, ...] = ()
    ran: tuple[tuple[str, ToolStatus, int], ...] = ()
    unsure: int = 0
    summaries: tuple[int, ...] = ()
    in_flight: tuple[_Flight, ...] = ()
    failures: tuple[Failures, ...] = ()
    watermarks: tuple[tuple[str, int], ...] = ()
    entry_count: int = 0
    items: Items = Items()
    counts: Counts = Counts()
    progress: tuple[tuple[str, msgspec.Raw], ...] = ()
    working: _Working = _Working()
    writes: int = 0
    rebuild: Rebuild | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Stored)


def dehydrate(state: SessionState) -> bytes:
    """Return *state* as bytes that hold no content."""
    return _encoder.encode(
        _Stored(
            version=state.version,
            write_id=state.write_id,
            opened=state.opened,
            cleared_version=state.cleared_version,
            life=state.life,
            began=state.began,
            created_us=state.created_us,
            updated_us=state.updated_us,
            config=msgspec.Raw(_encoder.encode(config.dump(state.config))),
            pages=state.window.entries.facts,
            ran=state.window.ran,
            unsure=state.window.unsure,
            summaries=tuple(summary.version for summary in state.summaries.live),
            in_flight=tuple(
                _Flight(flight.version, flight.seen_entries, flight.spoiled) for flight in state.compactions.in_flight
            ),
            failures=state.compactions.failures,
            watermarks=state.compactions.watermarks,
            entry_count=state.compactions.entries,
            items=state.items,
            counts=state.counts,
            progress=tuple((key, msgspec.Raw(_encoder.encode(folded))) for key, folded in state.progress),
            working=_without_content(state.working),
            writes=state.writes,
            rebuild=state.rebuild,
        )
    )


def load(state: bytes) -> tuple[Ranges, Callable[[Iterable[RecordedEvent]], SessionState]]:
    """Return the versions of the events that the stored *state* needs, and a function from them to the state."""
    stored = _decoder.decode(state)
    singles = {
        *stored.summaries,
        *(flight.version for flight in stored.in_flight),
        *(at for at, _ in stored.working.data),
        *(at for memory in stored.working.memories for at in memory[:2] if at is not None),
    }
    return ranges.ranges_of(sorted(singles)), partial(_hydrated, stored)


def _hydrated(stored: _Stored, events: Iterable[RecordedEvent]) -> SessionState:
    by_version = {event.version: event for event in events}
    loaded = _config(bytes(stored.config))
    summaries = tuple(_summary(by_version[version]) for version in stored.summaries)
    return SessionState(
        version=stored.version,
        write_id=stored.write_id,
        opened=stored.opened,
        cleared_version=stored.cleared_version,
        life=stored.life,
        began=stored.began,
        created_us=stored.created_us,
        updated_us=stored.updated_us,
        config=loaded,
        window=window.of_pages(
            PagedEntries.of(tuple(EntryPage(None, facts) for facts in stored.pages)),
            ran=stored.ran,
            unsure=stored.unsure,
        ),
        summaries=LiveSummaries(summaries, sum(summary.tokens for summary in summaries)),
        compactions=Compactions(
            in_flight=tuple(_flight(by_version[flight.version], flight) for flight in stored.in_flight),
            failures=stored.failures,
            watermarks=stored.watermarks,
            entries=stored.entry_count,
        ),
        items=stored.items,
        counts=stored.counts,
        progress=tuple((key, _progress(loaded, key, raw)) for key, raw in stored.progress),
        working=_working(stored.working, by_version),
        writes=stored.writes,
        rebuild=stored.rebuild,
    )


@lru_cache(maxsize=64)
def _config(dumped: bytes) -> config.MemoryConfig:
    return config.load(msgspec.json.decode(dumped))


def _whole(state: SessionState) -> SessionState:
    return replace(state, window=replace(state.window, entries=state.window.entries.owned()))


def _without_content(working: WorkingMemory) -> _Working:
    keys: dict[int, list[str]] = {}
    for key, version in working.set_at.items():
        keys.setdefault(version, []).append(key)
    return _Working(
        data=tuple((version, tuple(named)) for version, named in sorted(keys.items())),
        memories=tuple((memory.version, memory.edited_version, memory.persisted_us) for memory in working.memories),
        ttl_seconds=working.ttl_seconds,
        touched_us=working.touched_us,
        extraction=working.extraction,
        tokens=working.tokens,
        flags=working.flags,
        contexts=working.contexts,
    )


def _working(stored: _Working, by_version: Mapping[int, RecordedEvent]) -> WorkingMemory:
    data: JsonObject = {}
    set_at: dict[str, int] = {}
    for version, keys in stored.data:
        payload = by_version[version].payload
        assert isinstance(payload, DataChanged)
        data |= {key: payload.set[key] for key in keys}
        set_at |= dict.fromkeys(keys, version)
    return WorkingMemory(
        data=data,
        set_at=set_at,
        memories=tuple(_memory(by_version, *places) for places in stored.memories),
        ttl_seconds=stored.ttl_seconds,
        touched_us=stored.touched_us,
        extraction=stored.extraction,
        tokens=stored.tokens,
        flags=stored.flags,
        contexts=stored.contexts,
    )


def _memory(by_version: Mapping[int, RecordedEvent], added_at: int, edited_at: int | None, persisted_us: int) -> Memory:
    payload = by_version[added_at].payload
    assert isinstance(payload, MemoryAdded)
    memory = memory_of(by_version[added_at], payload)
    if edited_at is not None:
        change = by_version[edited_at].payload
        assert isinstance(change, MemoryEdited)
        memory = memory_edited(memory, by_version[edited_at], change)
    return replace(memory, persisted_us=persisted_us)


def _summary(event: RecordedEvent) -> Any:
    payload = event.payload
    if isinstance(payload, ContextSet):
        return summary_context(event, payload)
    assert isinstance(payload, CompactionCompleted)
    assert payload.summary_id is not None
    return summary_of(event, payload, payload.summary_id)


def _flight(event: RecordedEvent, flight: _Flight) -> InFlight:
    assert isinstance(event.payload, CompactionRequested)
    return InFlight(event.version, event.recorded_us, event.payload, flight.seen_entries, flight.spoiled)


def _progress(loaded: config.MemoryConfig, key: str, raw: msgspec.Raw) -> Any:
    compaction = loaded.compaction(key)
    fold = COMPACTIONS[compaction.type].progress if compaction else None
    assert fold is not None, "progress is stored only for strategies of the config"
    return msgspec.json.decode(raw, type=fold.state)


#: The snapshots of sessions.
SESSIONS: Final = SnapshotFormat(
    SESSION_IN_RUNS,
    dump=dehydrate,
    load=load,
    pages=lambda state: state.window.entries.pages,
    whole=_whole,
    may_wait=adding_may_wait,
    size_b=session_size_b,
    before=SMALL,
)

VIEW_STATES: Final = json_format(VIEWS)
