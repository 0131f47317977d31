"""Searching records, on every store. Source: http W-30 … W-32, W-34, W-46, C22."""

import random
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ledger.errors import InvalidInput
from ledger.events import to_microseconds
from ledger.llm.embedders.openai_embedder import OpenAIEmbedder
from ledger.llm.summarizers.model_answers import CountedEmbedder, ModelCalls
from ledger.long_term_memory import LongTermMemory, RecordPage, record_search, records_stream
from ledger.ports import Store
from ledger.ports.record_store import RecordQuery, SearchMode
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import record_reader
from projections.records.recency import Recency
from projections.records.records import Record
from tests.long_term_memory.conftest import SetClock
from tests.long_term_memory.test_filters import random_fields
from tests.search.test_embeddings import vector_of
from tests.support.model_endpoint import Endpoint, embeds, serving, status
from tests.support.stored_records import put_records


def ids_of(page: RecordPage) -> list[str]:
    return [memory.record.record_id for memory in page.memories]


async def test_words_rank_by_their_rarity_and_any_of_them_finds(memory: LongTermMemory) -> None:
    texts = ("Mia lives in Oslo", "Mia likes Oslo", "Mia has a dog", "Ben has a cat")
    await memory.create([{"id": f"r{number}", "text": text} for number, text in enumerate(texts)])
    page = await memory.search({"text": "MIA lives oslo?", "search_mode": "keyword", "recency_boost": False})
    assert ids_of(page) == ["r0", "r1", "r2"]
    first, second, third = page.memories
    assert (first.score, first.dist, first.score_type) == (pytest.approx(1.0), pytest.approx(0.0), "keyword")
    assert 1 > (second.score or 0) > (third.score or 0) > 0
    assert all(memory.dist == pytest.approx(1 - (memory.score or 0)) for memory in page.memories)


@pytest.mark.parametrize(("text", "query"), [("viel Ärger", "ärger"), ("Привет", "ПРИВЕТ"), ("«ΣΟΦΌΣ»", "σοφός")])
async def test_case_does_not_matter_in_any_script(memory: LongTermMemory, text: str, query: str) -> None:
    await memory.create([{"id": "r", "text": text}])
    assert ids_of(await memory.search({"text": query, "search_mode": "keyword"})) == ["r"]


async def test_a_plain_text_is_a_search_for_it(memory: LongTermMemory) -> None:
    await memory.create([{"id": "r0", "text": "Mia lives in Oslo"}, {"id": "r1", "text": "Ben has a cat"}])
    page = await memory.search("where does Mia live?")
    assert ids_of(page) == ids_of(await memory.search({"text": "where does Mia live?"})) == ["r0"]
    with pytest.raises(InvalidInput, match="must be a text, or an object"):
        await memory.search(["Oslo"])  # type: ignore[arg-type]


async def test_without_a_text_it_is_a_list_newest_first(memory: LongTermMemory) -> None:
    """http W-32; `dist` 0, `score` null."""
    days = ("2026-05-02", "2026-05-03", "2026-05-01")
    await memory.create([{"id": day, "text": day, "created_at": f"{day}T00:00:00Z"} for day in days])
    for body in ({}, {"text": ""}, {"text": " \n"}):
        page = await memory.search(body)
        assert ids_of(page) == ["2026-05-03", "2026-05-02", "2026-05-01"]
        assert {(memory.dist, memory.score, memory.score_type) for memory in page.memories} == {(0.0, None, None)}


async def test_pages_are_counted_exactly(memory: LongTermMemory) -> None:
    """http W-31: `next_offset` is null on the last page, also where it is full, and beyond."""
    await memory.create([{"id": f"r{number}", "text": f"tea {number}"} for number in range(7)])
    for question in ({}, {"text": "tea"}):
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = await memory.search({**question, "limit": 3, "offset": offset})
            assert page.total == 7
            seen += ids_of(page)
            offset = page.next_offset
        assert sorted(seen) == [f"r{number}" for number in range(7)]
        assert (await memory.search({**question, "limit": 7})).next_offset is None
        beyond = await memory.search({**question, "offset": 20})
        assert (beyond.memories, beyond.total, beyond.next_offset) == ([], 7, None)
    assert list((await memory.search({"limit": 1})).as_json()) == ["memories", "total", "next_offset"]
    assert list((await memory.search({"limit": 1})).memories[0].as_json())[-3:] == ["dist", "score", "score_type"]


HOSTILE = ["'", "\\", "a'b\\c", "& | ! <-> :*", "'; DROP TABLE ledger.records; --", "\x00", "\ud800", "%s :x"]


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 99_999, "word " * 20_000], ids=lambda text: ascii(text)[:20])
async def test_no_text_is_refused(memory: LongTermMemory, text: str) -> None:
    await memory.create([{"id": "r", "text": "it's a \\ and a word"}])
    for mode in ("keyword", "hybrid", "semantic"):
        assert (await memory.search({"text": text, "search_mode": mode})).total <= 1


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": 101},
        {"limit": "many"},
        {"limit": 1.5},
        {"limit": True},
        {"offset": -1},
        {"search_mode": "magic"},
        {"hybrid_alpha": 1.1},
        {"hybrid_alpha": "NaN"},
        {"text": 5},
        {"recency_boost": "yes"},
        {"recency_half_life_created_days": 0.0001},
        {"distance_threshold": 0.3, "search_mode": "keyword"},
        {"distance_threshold": 0.3, "search_mode": "hybrid"},
    ],
    ids=repr,
)
def test_a_wrong_question_is_refused(body: dict[str, object]) -> None:
    """http W-30, W-31."""
    with pytest.raises(InvalidInput) as refused:
        record_search(body)
    if "distance_threshold" in body:
        assert str(refused.value) == "distance_threshold is only supported for semantic search mode"


def test_numbers_may_come_as_text_and_unknown_fields_are_ignored() -> None:
    """http W-3."""
    asked = record_search({"limit": "7", "offset": "2", "hybrid_alpha": "0.5", "text_scorer": "BM25", "x": 1})
    assert (asked.limit, asked.offset, asked.alpha, asked.mode) == (7, 2, 0.5, "semantic")
    assert record_search({"recency_boost": False}).recency is None
    assert record_search({"server_side_recency": True, "recency_half_life_created_days": 2}).recency == Recency(
        half_life_created_days=2.0
    )


async def test_recency_ranks_before_paging(over: Callable[..., LongTermMemory], clock: SetClock) -> None:
    """http W-32, W-46: the freshest of equals comes first, though another mode of ranking would page it away."""
    memory = over("", clock=clock)
    long_ago = "2020-01-01T00:00:00Z"
    old = [
        {"id": f"old{number}", "text": "tea tea tea", "created_at": long_ago, "last_accessed": long_ago}
        for number in range(3)
    ]
    await memory.create([*old, {"id": "new", "text": "tea time"}], deduplicate=False)
    question = {"text": "tea", "limit": 1}
    assert ids_of(await memory.search(question)) == ["new"]
    exact = {"text": "tea nothing", "recency_semantic_weight": 0.0, "recency_recency_weight": 1.0, "limit": 4}
    assert ids_of(await memory.search(exact))[0] == "new"
    unboosted = await memory.search({**exact, "recency_boost": False})
    assert unboosted.total == 4


async def test_reading_counts_at_most_every_quarter_of_an_hour(
    over: Callable[..., LongTermMemory], clock: SetClock
) -> None:
    """http W-32; no events."""
    memory = over("", clock=clock)
    await memory.create([{"id": "r", "text": "tea"}])
    assert (await memory.get("r")).access_count == 0
    for minutes, count in ((0, 1), (14, 1), (1, 1), (0, 2), (16, 2)):
        clock.advance(minutes=minutes)
        found = await memory.search({"text": "tea"})
        assert found.memories[0].record.access_count == count, minutes
    assert (await memory.get("r")).last_accessed == clock.now()
    assert len(await memory.history("r")) == 1


async def test_a_read_that_cannot_be_counted_still_returns(
    store: Store, memory: LongTermMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """http W-32: best effort."""
    await memory.create([{"id": "r", "text": "tea"}])

    async def fails(*_: object, **__: object) -> None:
        raise InvalidInput("away", "the database is away")

    monkeypatch.setattr(store.records, "touch", fails)
    assert (await memory.get("r")).record_id == "r"
    assert (await memory.search({"text": "tea"})).total == 1


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        running.answers(embeds(vector_of))
        yield running


@pytest.fixture
async def meaningful(endpoint: Endpoint, over: Callable[..., LongTermMemory]) -> AsyncIterator[LongTermMemory]:
    """Long-term memory with an embedder to which synonyms are equal."""
    embedder = OpenAIEmbedder(model="scripted", base_url=endpoint.url, max_retries=0, timeout_s=30)
    yield over("", embedder=CountedEmbedder(embedder, ModelCalls()))
    await embedder.close()


TEXTS = {"dog": "my retriever is called Archie", "car": "the engine makes a noise", "tea": "an espresso in the morning"}


async def test_meaning_finds_what_shares_no_word_and_words_do_not(
    meaningful: LongTermMemory, memory: LongTermMemory
) -> None:
    """http W-32: without an embedder `semantic` goes by words and says so."""
    await meaningful.create([{"id": name, "text": text} for name, text in TEXTS.items()])
    page = await meaningful.search({"text": "puppy?"})
    assert ids_of(page)[0] == "dog"
    best = page.memories[0]
    assert (best.score_type, page.total) == ("semantic", 3)
    assert best.score == pytest.approx(1.0)
    near = await meaningful.search({"text": "puppy?", "distance_threshold": 0.2})
    assert (ids_of(near), near.total) == (["dog"], 1)
    by_words = await memory.search({"text": "puppy engine"})
    assert (ids_of(by_words), by_words.memories[0].score_type) == (["car"], "keyword")
    hybrid = await meaningful.search({"text": "puppy noise", "search_mode": "hybrid", "hybrid_alpha": 0.0})
    assert ids_of(hybrid)[0] == "car"
    hybrid = await meaningful.search({"text": "puppy noise", "search_mode": "hybrid", "hybrid_alpha": 1.0})
    assert (ids_of(hybrid)[0], hybrid.memories[0].score_type) == ("dog", "hybrid")


async def test_an_edited_text_waits_for_its_own_meaning_and_a_deleted_one_has_none(
    meaningful: LongTermMemory, endpoint: Endpoint
) -> None:
    await meaningful.create([{"id": name, "text": text} for name, text in TEXTS.items()])
    assert await meaningful.embed_pending() == 3
    assert await meaningful.embed_pending() == 0
    await meaningful.patch("dog", {"text": "a garage for the car"})
    await meaningful.delete(["tea"])
    assert ids_of(await meaningful.search({"text": "puppy", "distance_threshold": 0.2})) == []
    near = await meaningful.search({"text": "engine", "distance_threshold": 0.2})
    assert sorted(ids_of(near)) == ["car", "dog"]
    endpoint.answers(status(500))
    fallen_back = await meaningful.search({"text": "garage"})
    assert (ids_of(fallen_back), fallen_back.memories[0].score_type) == (["dog"], "keyword")


async def scored(store: Store, namespace: str, seed: int) -> list[tuple[int, list[tuple[str, float | None]]]]:
    """Return what many questions find among random records."""
    chance = random.Random(seed)
    start = datetime(2026, 5, 1, tzinfo=UTC)
    records = []
    for number in range(50):
        own = records_stream(namespace, chance.choice((None, "mia")))
        texts = " ".join(chance.choices(("tea", "coffee", "Oslo", "dog", "cat", "the", "of"), k=chance.randrange(1, 6)))
        stored = to_microseconds(start + timedelta(hours=chance.randrange(2_000), seconds=number))
        fields = random_fields(chance)
        record = Record(
            record_id=f"r{number}",
            fields=type(fields)(text=texts, memory_type=fields.memory_type, topics=fields.topics),
            version=1,
            persisted_us=stored,
            updated_us=stored,
        )
        records.append((own, record))
    builds = await put_records(store, namespace, records)
    remaining = (await store.records.search(builds, RecordQuery(now=start, limit=100))).hits
    vectors = [
        (hit.stored, [random.Random(hit.stored.record.record_id + str(place)).random() - 0.5 for place in range(3)])
        for hit in remaining
        if hit.stored.record.record_id[-1] != "3"
    ]
    await store.records.save_embeddings("model", vectors)
    modes: tuple[SearchMode, ...] = ("keyword", "semantic", "hybrid")
    answers = []
    for mode in modes:
        for text in ("tea", "coffee in Oslo", "the dog of the cat", "nothing known"):
            for recency in (None, Recency(), Recency(semantic_weight=0.1, recency_weight=0.9)):
                for threshold in (None, 0.6) if mode == "semantic" else (None,):
                    query = RecordQuery(
                        text=text,
                        mode=mode,
                        vector=(0.3, -0.2, 0.5),
                        model="model",
                        alpha=0.6,
                        distance_threshold=threshold,
                        recency=recency,
                        now=start + timedelta(days=60),
                        limit=20,
                        offset=5,
                    )
                    hits = await store.records.search(builds, query)
                    answers.append((hits.total, [(hit.stored.record.record_id, hit.score or 0.0) for hit in hits.hits]))
    return answers


def nearly(answers: list[tuple[int, list[tuple[str, float]]]]) -> list[tuple[int, list[tuple[str, Any]]]]:
    """Return *answers* with scores that equal those of pgvector, which computes with 32 bits."""
    return [(total, [(name, pytest.approx(score, abs=1e-6)) for name, score in hits]) for total, hits in answers]


@pytest.mark.postgres
async def test_the_database_ranks_as_the_reference_does(
    postgres_store: Store, namespace: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """http W-32, W-46, as a law: totals, order and scores, in every mode; the control ranks by creation alone."""
    if not await postgres_store.records.stores_embeddings():
        pytest.skip("this server has no pgvector")
    expected = await scored(InMemoryStore(), namespace, seed)
    assert sum(total for total, _ in expected) > 500
    assert await scored(postgres_store, namespace, seed) == nearly(expected)
    monkeypatch.setattr(record_reader, "_rank", lambda *parts, created_at, **moments: sa.literal(0.0))
    control = await scored(InMemoryStore(), f"{namespace}-control", seed)
    assert await scored(postgres_store, f"{namespace}-control", seed) != nearly(control)
