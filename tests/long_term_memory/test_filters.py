"""Filters of long-term memory: what is refused, and that database and predicate agree. Source: http W-33, W-34."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from ledger.errors import InvalidInput
from ledger.events import MemoryFields, to_microseconds
from ledger.long_term_memory import records_stream
from ledger.ports import Store
from ledger.ports.record_store import RecordQuery, StoredRecord
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import record_conditions
from projections.records.record_filters import Date, FilterCondition, Tag, date_matches, parse, tag_matches
from projections.records.records import Record
from tests.support.stored_records import put_records

REFUSED: list[dict[str, Any]] = [
    {"topics": {"eq": "a", "ne": "b"}},
    {"topics": {"eq": "a", "not_eq": "b"}},
    {"topics": {"any": ["a"], "all": ["b"]}},
    {"entities": {"in_": ["a"], "all": ["b"]}},
    {"session_id": {"startswith": "a", "eq": "b"}},
    {"session_id": {"startswith": "a", "none": ["b"]}},
    {"session_id": {"startswith": ""}},
    {"created_at": {"between": ["2026-01-01", "2026-02-01"], "gt": "2026-01-01"}},
    {"created_at": {"between": ["2026-01-01"]}},
    {"created_at": {"between": []}},
    {"created_at": {"eq": "2026-01-01", "ne": "2026-01-02"}},
    {"created_at": {"startswith": "2026"}},
    {"created_at": {"gt": "soon"}},
    {"created_at": {"gt": 5}},
    {"user_id": {"any": []}},
    {"user_id": {"in": "mia"}},
    {"user_id": {"none": [1]}},
    {"user_id": {"eq": 1}},
    {"user_id": {"eq": "a\x00b"}},
    {"user_id": {"eq": "\ud800"}},
    {"user_id": {"like": "m%"}},
    {"user_id": "mia"},
    {"memory_type": {"eq": "dream"}},
    {"memory_type": {"not_in": ["semantic", "dream"]}},
    {"topics": {"any": ["a"] * 1_001}},
]


@pytest.mark.parametrize("body", REFUSED, ids=repr)
def test_a_contradictory_or_invalid_filter_is_refused(body: dict[str, Any]) -> None:
    """http W-33: 422."""
    with pytest.raises(InvalidInput) as refused:
        parse(body)
    assert refused.value.field.startswith(next(iter(body)))


def test_both_spellings_mean_the_same() -> None:
    """http W-33."""
    for first, other in (("ne", "not_eq"), ("any", "in_"), ("any", "in"), ("none", "not_in")):
        value: Any = "a" if first == "ne" else ["a", "b"]
        assert parse({"user_id": {first: value}}) == parse({"user_id": {other: value}})
    assert parse({"created_at": {"ne": "2026-01-01"}}) == parse({"created_at": {"not_eq": "2026-01-01"}})


def test_an_empty_filter_restricts_nothing_and_null_is_absent() -> None:
    """http W-33; `field` and `inclusive` are tolerated, other keys of a body are not looked at."""
    tolerated = {"field": "user_id", "inclusive": "both", "eq": None}
    assert parse({"topics": {}, "user_id": tolerated, "session_id": None, "text": "x", "limit": 3}) == ()


def test_a_moment_without_an_offset_is_in_utc() -> None:
    """http W-6."""
    assert parse({"event_date": {"gt": "2026-05-01T12:00:00"}}) == parse(
        {"event_date": {"gt": "2026-05-01T14:00:00+02:00"}}
    )


@pytest.mark.parametrize(
    ("operator", "values", "fields", "matches"),
    [
        ("eq", ("home",), ("home", "work"), True),
        ("ne", ("home",), ("home", "work"), False),
        ("any", ("home", "x"), ("home", "work"), True),
        ("all", ("home", "x"), ("home", "work"), False),
        ("all", ("home", "work"), ("home", "work"), True),
        ("none", ("x",), ("home",), True),
        ("none", ("x", "home"), ("home",), False),
        ("startswith", ("ho",), ("work", "home"), True),
        ("eq", ("home",), (), False),
        ("ne", ("home",), (), True),
        ("none", ("home",), (), True),
        ("any", ("home",), (), False),
        ("startswith", ("h",), (), False),
    ],
)
def test_lists_contain_one_of_each_or_none(
    operator: Any, values: tuple[str, ...], fields: tuple[str, ...], matches: bool
) -> None:
    """http W-33: and negations match what is absent; `all` is not `any` (http C22)."""
    assert tag_matches(Tag("topics", operator, values), fields) is matches


def test_moments_are_equal_by_whole_seconds_and_between_includes_its_ends() -> None:
    """http W-33."""
    at = datetime(2026, 5, 1, 12, 0, 0, 500_000, tzinfo=UTC)
    second = timedelta(seconds=1)
    assert date_matches(Date("event_date", "eq", (at.replace(microsecond=9),)), at)
    assert not date_matches(Date("event_date", "ne", (at.replace(microsecond=9),)), at)
    assert date_matches(Date("event_date", "between", (at, at + second)), at)
    assert date_matches(Date("event_date", "between", (at - second, at)), at)
    assert not date_matches(Date("event_date", "gt", (at,)), at)
    assert date_matches(Date("event_date", "gte", (at,)), at)
    assert date_matches(Date("event_date", "ne", (at,)), None)
    assert not date_matches(Date("event_date", "lt", (at,)), None)


WORDS = ("home", "Home", "work", "wörk", "Straße", "STRASSE", "a%b", "a_b", "'", "")


def random_fields(chance: random.Random) -> MemoryFields:
    def some() -> tuple[str, ...] | None:
        return None if chance.random() < 0.2 else tuple(chance.sample(WORDS[:-1], chance.randrange(4)))

    return MemoryFields(
        text=chance.choice(WORDS[:-1]),
        memory_type=chance.choice(("message", "semantic", "episodic")),
        session_id=chance.choice((None, "s", "s1", "S", "a%b")),
        topics=some(),
        entities=some(),
        event_date=None if chance.random() < 0.3 else random_time(chance),
        created_at=random_time(chance),
        extraction_strategy=chance.choice(("discrete", "summary", "message")),
    )


def random_time(chance: random.Random) -> datetime:
    """Return one of few moments, some of them less than a second apart, some before 1970."""
    base = chance.choice((datetime(2026, 5, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)))
    return base + timedelta(seconds=chance.randrange(3), microseconds=chance.choice((0, 1, 500_000)))


def random_filter(chance: random.Random) -> dict[str, Any]:
    field = chance.choice(("session_id", "user_id", "topics", "entities", "memory_type", "extraction_strategy"))
    values = {
        "session_id": ("s", "s1", "S", "a%b", "zzz"),
        "user_id": ("mia", "ben", "zzz"),
        "memory_type": ("message", "semantic", "episodic"),
        "extraction_strategy": ("discrete", "summary"),
    }.get(field, WORDS[:-1])
    if chance.random() < 0.4:
        date = chance.choice(("created_at", "event_date", "last_accessed"))
        operator = chance.choice(("gt", "gte", "lt", "lte", "eq", "ne", "between"))
        times = sorted(random_time(chance) for _ in range(2))
        return {date: {operator: times if operator == "between" else times[0]}}
    operator = chance.choice(("eq", "ne", "any", "all", "none", "startswith"))
    if operator in {"any", "all", "none"}:
        return {field: {operator: chance.sample(values, chance.randrange(1, 3))}}
    if operator == "startswith":
        return {field: {operator: chance.choice(values)[:2]}}
    return {field: {operator: chance.choice(values)}}


async def filled(store: Store, namespace: str, chance: random.Random, count: int = 60) -> dict[UUID, int]:
    """Put random records of three users straight into the projection of *store*."""
    records = [
        (
            records_stream(namespace, chance.choice((None, "mia", "ben"))),
            Record(
                record_id=f"r{number}",
                fields=random_fields(chance),
                version=1,
                persisted_us=to_microseconds(random_time(chance)),
                updated_us=0,
                status="live" if chance.random() < 0.9 else "deleted",
            ),
        )
        for number in range(count)
    ]
    return await put_records(store, namespace, records)


async def found(store: Store, builds: dict[UUID, int], conditions: tuple[FilterCondition, ...]) -> list[StoredRecord]:
    query = RecordQuery(conditions=conditions, now=datetime(2026, 6, 1, tzinfo=UTC), limit=1_000)
    hits = await store.records.search(builds, query)
    assert hits.total == len(hits.hits)
    return [hit.stored for hit in hits.hits]


async def differences(store: Store, namespace: str, seed: int, *, rounds: int = 150) -> int:
    """Return how many random filters give other records in *store* than in the reference."""
    reference = InMemoryStore()
    builds = await filled(store, namespace, random.Random(seed))
    assert await filled(reference, namespace, random.Random(seed)) == builds
    chance, different, matched = random.Random(seed + 1), 0, 0
    for _ in range(rounds):
        body = {**random_filter(chance), **(random_filter(chance) if chance.random() < 0.3 else {})}
        conditions = parse(body)
        ours, theirs = await found(store, builds, conditions), await found(reference, builds, conditions)
        matched += bool(ours)
        different += ours != theirs
    assert matched > rounds // 4, "most filters would find nothing"
    return different


@pytest.mark.postgres
async def test_the_database_and_the_predicate_keep_the_same_records(
    postgres_store: Store, namespace: str, seed: int
) -> None:
    """http W-33, as a law: for all records and filters, order included."""
    assert await differences(postgres_store, namespace, seed) == 0


@pytest.mark.full
@pytest.mark.postgres
async def test_a_condition_that_forgets_what_is_absent_is_noticed(
    postgres_store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: `ne` as SQL has it, null for what is absent."""
    right = record_conditions._scalar

    def wrong(condition: Tag, column: Any) -> Any:
        return column != condition.values[0] if condition.operator == "ne" else right(condition, column)

    monkeypatch.setattr(record_conditions, "_scalar", wrong)
    assert await differences(postgres_store, namespace, 7) > 0
