"""A search among records that are in memory: those of the in-memory store, or those of a past. Pure."""

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, assert_never
from uuid import UUID

from ledger.events import to_microseconds
from ledger.ports.record_store import MOST_WORDS, RecordHit, RecordHitPage, RecordKey, RecordQuery, StoredRecord
from projections.records.record_filters import Date, FilterCondition, Tag, date_matches, folded, tag_matches
from projections.words.languages import SearchLanguage
from projections.words.searchable_text import PIECE_CHARACTERS
from projections.words.words import asked_words, index_words

#: Returns the embedding of a record by the model of the query; None if it has none.
VectorOf: TypeAlias = Callable[[StoredRecord], Sequence[float] | None]


def found_in(live: Sequence[StoredRecord], query: RecordQuery, vector_of: VectorOf) -> RecordHitPage:
    """Return what `RecordStore.search` does, among *live* records."""
    scores = None if query.text is None else _scores(live, query, vector_of)
    hits = [
        RecordHit(record, None if scores is None else scores[record.key])
        for record in live
        if all(_matches(condition, record) for condition in query.conditions)
        and (scores is None or record.key in scores)
    ]
    if query.distance_threshold is not None and scores is not None:
        hits = [hit for hit in hits if 1 - (hit.score or 0.0) <= query.distance_threshold]
    ranked = sorted(hits, key=lambda hit: _best_first(hit, query))
    return RecordHitPage(len(ranked), ranked[query.offset : query.offset + query.limit])


def _scores(live: Sequence[StoredRecord], query: RecordQuery, vector_of: VectorOf) -> dict[RecordKey, float]:
    by_words = _by_words(live, query.text or "", query.language)
    if query.vector is None or query.mode == "keyword":
        return by_words
    near = {
        record.key: _similarity(query.vector, vector)
        for record in live
        if (vector := vector_of(record)) is not None and len(vector) == len(query.vector)
    }
    if query.mode == "semantic":
        return near
    return {
        key: query.alpha * near.get(key, 0.0) + (1 - query.alpha) * by_words.get(key, 0.0) for key in {*near, *by_words}
    }


def _by_words(live: Sequence[StoredRecord], text: str, language: SearchLanguage) -> dict[RecordKey, float]:
    """Return, by record, the share of the query's total word weight that the record's words have."""
    words_by_key = {
        record.key: set(index_words(record.record.fields.text[:PIECE_CHARACTERS], language=language).counts)
        for record in live
    }
    asked = sorted(asked_words(text, language=language).stems, key=lambda word: (-len(word), word))[:MOST_WORDS]
    counts = {word: sum(word in each for each in words_by_key.values()) for word in asked}
    rarity = {word: math.log(1 + (len(words_by_key) - n + 0.5) / (n + 0.5)) for word, n in counts.items()}
    whole = sum(rarity.values())
    shares = {key: sum(rarity[word] for word in asked if word in each) for key, each in words_by_key.items()}
    return {key: min(1.0, share / whole) for key, share in shares.items() if share}


def _matches(condition: FilterCondition, record: StoredRecord) -> bool:
    fields = record.record.fields
    match condition:
        case Date(field="created_at"):
            return date_matches(condition, record.record.created_at)
        case Date(field="last_accessed"):
            return date_matches(condition, record.last_accessed)
        case Date():
            return date_matches(condition, fields.event_date)
        case Tag(field="topics" | "entities" as name):
            return tag_matches(condition, [folded(name, each) for each in getattr(fields, name) or ()])
        case Tag(field="user_id"):
            return tag_matches(condition, [record.user_id] if record.user_id else [])
        case Tag(field=name):
            value = getattr(fields, name)
            return tag_matches(condition, [] if value is None else [value])
        case _:
            assert_never(condition)


def _best_first(hit: RecordHit, query: RecordQuery) -> tuple[float, int, str, UUID]:
    stored = hit.stored
    rank = hit.score or 0.0
    if hit.score is not None and query.recency is not None:
        recency = query.recency.of(
            last_accessed=stored.last_accessed, created_at=stored.record.created_at, now=query.now
        )
        rank = query.recency.rank(distance=1 - hit.score, recency=recency)
    age = to_microseconds(stored.record.created_at)
    return -rank, age if query.oldest_first else -age, stored.record.record_id, stored.stream_id


def _similarity(first: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*first) * math.hypot(*other)
    near = sum(a * b for a, b in zip(first, other, strict=True)) / lengths if lengths else 0.0
    return min(1.0, max(0.0, near))
