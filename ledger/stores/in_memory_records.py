"""Long-term memory of the reference store: what `ports.records` promises, with nothing in the way."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, assert_never
from uuid import UUID

import msgspec
from msgspec.structs import replace

from ledger.events import StoredEvent, to_microseconds
from ledger.ids import Stream
from ledger.ports import Clock, NamespaceInfo
from ledger.ports.indexes import Checkpoint
from ledger.ports.records import (
    MOST_WORDS,
    RECORDS_PROJECTION,
    KeptRecord,
    Place,
    RecordAccess,
    RecordBuilds,
    RecordEvents,
    RecordHit,
    RecordHits,
    RecordQuery,
    Wanted,
)
from projections.ranking import words
from projections.record_filters import Condition, Date, Tag, date_matches, folded, tag_matches
from projections.records import RECORDS, Record, identity
from projections.search import PIECE_CHARACTERS


class Space(Protocol):
    """What long-term memory needs of a namespace."""

    info: NamespaceInfo
    log: list[StoredEvent]
    names: dict[UUID, Stream]
    checkpoints: dict[tuple[str, int], Checkpoint]


class _Access(msgspec.Struct, frozen=True):
    last: datetime
    count: int


class InMemoryRecords:
    """The `ports.records.RecordStore` of the store."""

    def __init__(self, spaces: Mapping[UUID, Space], clock: Clock) -> None:
        self._spaces = spaces
        self._clock = clock
        self._rows: dict[tuple[UUID, int], dict[tuple[UUID, str], tuple[str, Record]]] = {}
        self._accesses: dict[Place, _Access] = {}
        self._meanings: dict[tuple[str, Place], tuple[str, Sequence[float]]] = {}

    async def record_events(self, namespace_id: UUID, *, after: int, limit: int) -> RecordEvents:
        """See `ports.records.RecordIndexStore.record_events`."""
        space = self._spaces.get(namespace_id)
        page = space.log[after : after + limit] if space else []
        if space is None or not page:
            return RecordEvents(after, [])
        named = ((space.names[event.stream_id], event) for event in page)
        return RecordEvents(
            page[-1].position, [(stream.user_id, event) for stream, event in named if stream.session_id == RECORDS]
        )

    async def save_records(
        self,
        namespace_id: UUID,
        build: int,
        records: Sequence[tuple[UUID, str, Record]],
        *,
        after: int,
        position: int,
        language: str,
    ) -> int | None:
        """See `ports.records.RecordIndexStore.save_records`."""
        space = self._spaces.get(namespace_id)
        built = space.checkpoints.get((RECORDS_PROJECTION, build)) if space else None
        if space is None or built is None or built.position != after:
            return built.position if built else None
        rows = self._rows.setdefault((namespace_id, build), {})
        for stream_id, user_id, record in records:
            rows[stream_id, record.record_id] = (user_id, record)
            if not record.live:
                place = (namespace_id, stream_id, record.record_id)
                for key in [key for key in self._meanings if key[1] == place]:
                    del self._meanings[key]
        moved = replace(built, position=position, updated_at=self._clock.now())
        space.checkpoints[RECORDS_PROJECTION, build] = moved
        return position

    async def prune_records(self, namespace_id: UUID) -> int:
        """See `ports.records.RecordIndexStore.prune_records`."""
        builds = self._spaces[namespace_id].checkpoints if namespace_id in self._spaces else {}
        gone = [key for key in self._rows if key[0] == namespace_id and (RECORDS_PROJECTION, key[1]) not in builds]
        return sum(len(self._rows.pop(key)) for key in gone)

    async def record_spaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, str]:
        """See `ports.records.RecordReader.record_spaces`."""
        known = {one: self._spaces[one] for one in namespace_ids if one in self._spaces}
        return {
            one: space.info.namespace
            for one, space in known.items()
            if any(stream.session_id == RECORDS for stream in space.names.values())
        }

    async def find_records(self, builds: RecordBuilds, wanted: Wanted) -> list[KeptRecord]:
        """See `ports.records.RecordReader.find_records`."""
        found = [
            one
            for one in self._all(builds)
            if (wanted.streams is None or one.stream_id in wanted.streams)
            and (
                one.record.record_id in wanted.record_ids
                or (one.record.live and identity(one.record.fields) in wanted.identities)
            )
        ]
        return sorted(found, key=lambda one: one.place)

    async def duplicate_records(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[KeptRecord]:
        """See `ports.records.RecordReader.duplicate_records`."""
        scope = [
            one
            for one in self._live(builds)
            if one.record.fields.extraction_strategy != "message" and user_id in {None, one.user_id}
        ]
        said = [(*one.place[:2], identity(one.record.fields)) for one in scope]
        several = [one for one, same in zip(scope, said, strict=True) if said.count(same) > 1]
        return sorted(several, key=lambda one: (*one.place[:2], one.record.created_at, one.record.record_id))

    async def search_records(self, builds: RecordBuilds, query: RecordQuery) -> RecordHits:
        """See `ports.records.RecordSearchStore.search_records`."""
        scores = None if query.text is None else self._scores(builds, query)
        hits = [
            RecordHit(one, None if scores is None else scores[one.place])
            for one in self._live(builds)
            if all(_matches(condition, one) for condition in query.conditions)
            and (scores is None or one.place in scores)
        ]
        if query.distance_threshold is not None and scores is not None:
            hits = [hit for hit in hits if 1 - (hit.score or 0.0) <= query.distance_threshold]
        ranked = sorted(hits, key=lambda hit: _best_first(hit, query))
        return RecordHits(len(ranked), ranked[query.offset : query.offset + query.limit])

    async def touch_records(self, places: Sequence[Place], *, now: datetime, pause_s: float) -> None:
        """See `ports.records.RecordAccessStore.touch_records`."""
        for place in set(places):
            before = self._accesses.get(place)
            if before is None or not before.count or before.last <= now - timedelta(seconds=pause_s):
                last = max(now, before.last) if before else now
                self._accesses[place] = _Access(last, before.count + 1 if before else 1)

    async def seed_accesses(self, accesses: Sequence[RecordAccess]) -> None:
        """See `ports.records.RecordAccessStore.seed_accesses`."""
        for one in accesses:
            self._accesses.setdefault(one.place, _Access(one.last_accessed, one.access_count))

    async def embeds_records(self) -> bool:
        """See `ports.records.RecordEmbeddingStore.embeds_records`."""
        return True

    async def records_to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[KeptRecord]:
        """See `ports.records.RecordEmbeddingStore.records_to_embed`."""
        left = [one for one in self._live(builds) if self._meaning(model, one) is None]
        return sorted(left, key=lambda one: (one.record.created_at, one.record.record_id, one.stream_id))[:limit]

    async def save_record_embeddings(
        self, model: str, embeddings: Sequence[tuple[KeptRecord, Sequence[float]]]
    ) -> None:
        """See `ports.records.RecordEmbeddingStore.save_record_embeddings`."""
        for one, vector in embeddings:
            self._meanings[model, one.place] = (one.record.fields.text, vector)

    def _all(self, builds: RecordBuilds) -> Iterator[KeptRecord]:
        for key in builds.items():
            for (stream_id, record_id), (user_id, record) in self._rows.get(key, {}).items():
                access = self._accesses.get((key[0], stream_id, record_id)) or _Access(record.persisted_at, 0)
                yield KeptRecord(
                    namespace_id=key[0],
                    stream_id=stream_id,
                    user_id=user_id,
                    record=record,
                    last_accessed=access.last,
                    access_count=access.count,
                )

    def _live(self, builds: RecordBuilds) -> Iterator[KeptRecord]:
        return (one for one in self._all(builds) if one.record.live)

    def _meaning(self, model: str, one: KeptRecord) -> Sequence[float] | None:
        text, vector = self._meanings.get((model, one.place), ("", None))
        return vector if text == one.record.fields.text else None

    def _scores(self, builds: RecordBuilds, query: RecordQuery) -> dict[Place, float]:
        by_words = self._by_words(builds, query.text or "")
        if query.vector is None or query.mode == "keyword":
            return by_words
        near = {
            one.place: _similarity(query.vector, vector)
            for one in self._live(builds)
            if (vector := self._meaning(query.model, one)) is not None and len(vector) == len(query.vector)
        }
        if query.mode == "semantic":
            return near
        return {
            place: query.alpha * near.get(place, 0.0) + (1 - query.alpha) * by_words.get(place, 0.0)
            for place in {*near, *by_words}
        }

    def _by_words(self, builds: RecordBuilds, text: str) -> dict[Place, float]:
        """Return the share of the question's rarity that each record with a word of it has."""
        said = {one.place: set(words(one.record.fields.text[:PIECE_CHARACTERS])) for one in self._live(builds)}
        asked = sorted(set(words(text)), key=lambda word: (-len(word), word))[:MOST_WORDS]
        counts = {word: sum(word in each for each in said.values()) for word in asked}
        rarity = {word: math.log(1 + (len(said) - n + 0.5) / (n + 0.5)) for word, n in counts.items()}
        whole = sum(rarity.values())
        shares = {place: sum(rarity[word] for word in asked if word in each) for place, each in said.items()}
        return {place: min(1.0, share / whole) for place, share in shares.items() if share}


def _matches(condition: Condition, one: KeptRecord) -> bool:
    fields = one.record.fields
    match condition:
        case Date(field="created_at"):
            return date_matches(condition, one.record.created_at)
        case Date(field="last_accessed"):
            return date_matches(condition, one.last_accessed)
        case Date():
            return date_matches(condition, fields.event_date)
        case Tag(field="topics" | "entities" as name):
            return tag_matches(condition, [folded(name, each) for each in getattr(fields, name) or ()])
        case Tag(field="user_id"):
            return tag_matches(condition, [one.user_id] if one.user_id else [])
        case Tag(field=name):
            value = getattr(fields, name)
            return tag_matches(condition, [] if value is None else [value])
        case _:
            assert_never(condition)


def _best_first(hit: RecordHit, query: RecordQuery) -> tuple[float, int, str, UUID]:
    kept = hit.kept
    rank = hit.score or 0.0
    if hit.score is not None and query.recency is not None:
        recency = query.recency.of(last_accessed=kept.last_accessed, created_at=kept.record.created_at, now=query.now)
        rank = query.recency.rank(distance=1 - hit.score, recency=recency)
    age = to_microseconds(kept.record.created_at)
    return -rank, age if query.oldest_first else -age, kept.record.record_id, kept.stream_id


def _similarity(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    near = sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
    return min(1.0, max(0.0, near))
