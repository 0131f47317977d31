"""Search by meaning: embeddings of a real HTTP endpoint, fused with the words' ranking."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator

import pytest

from ledger.errors import EmbedderFailed, InvalidInput
from ledger.llm.embedders.openai_embedder import OpenAIEmbedder
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.ports.language_models import Embedder
from projections.words.ranking import fuse
from tests.support.model_endpoint import Endpoint, embeds, gives, hang, hang_up, raw, serving, status

CONCEPTS = ({"dog", "retriever", "puppy"}, {"car", "engine", "garage"}, {"coffee", "latte", "espresso"})


def vector_of(text: str) -> list[float]:
    """Return how often *text* speaks of each concept: a model of meaning in which synonyms are equal."""
    words = text.lower().replace("?", "").split()
    counted = [float(sum(word in concept for word in words)) for concept in CONCEPTS]
    return [*counted, 0.1]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        running.answers(embeds(vector_of))
        yield running


@pytest.fixture
async def embedder(endpoint: Endpoint) -> AsyncIterator[OpenAIEmbedder]:
    created = OpenAIEmbedder(model="scripted", base_url=endpoint.url, max_retries=0, timeout_s=30)
    yield created
    await created.close()


@pytest.fixture
async def ledger(store: Store, namespace: str, embedder: OpenAIEmbedder) -> AsyncIterator[MemoryLedger]:
    if not await store.records.stores_embeddings():
        pytest.skip("this server has no pgvector")
    async with MemoryLedger.open(namespace=namespace, store=store, embedder=embedder) as opened:
        yield opened


async def talk(ledger: MemoryLedger) -> None:
    for text in ("my retriever is called Archie", "the engine makes a noise", "an espresso in the morning"):
        await ledger.add_user_message("s", text)


async def test_what_shares_no_word_is_found_by_its_meaning(ledger: MemoryLedger) -> None:
    await talk(ledger)
    assert await ledger.embed_pending() == 3
    assert await ledger.embed_pending() == 0, "once"
    found = await ledger.search("dog?", top_k=1)
    assert [result.text for result in found] == ["my retriever is called Archie"]
    assert found[0].score == pytest.approx(0.4)


async def test_words_and_meaning_together_beat_either(ledger: MemoryLedger) -> None:
    """First in both rankings."""
    await talk(ledger)
    await ledger.add_user_message("s", "a dog show, says the poster")
    await ledger.embed_pending()
    found = await ledger.search("dog poster", top_k=2)
    assert found[0].text == "a dog show, says the poster"
    assert found[0].score == pytest.approx(1.0)


async def test_only_embeddings_lag(ledger: MemoryLedger) -> None:
    """style §4: a text is found by its words before it has a vector; the search itself sends it on its way."""
    await talk(ledger)
    assert [item.text for item in await ledger.search("Archie", top_k=1)] == ["my retriever is called Archie"]
    for _ in range(100):
        if (await ledger.search("puppy", top_k=1)) != []:
            break
        await asyncio.sleep(0.05)
    assert [item.text for item in await ledger.search("puppy", top_k=1)] == ["my retriever is called Archie"]


async def test_an_edited_text_is_embedded_again_and_a_removed_one_is_not_found(ledger: MemoryLedger) -> None:
    entry = await ledger.add_user_message("s", "my retriever")
    await ledger.embed_pending()
    await ledger.edit_entry("s", entry.entry_id, "my car")
    assert await ledger.embed_pending() == 1
    assert [item.text for item in await ledger.search("engine", top_k=1)] == ["my car"]
    await ledger.remove_entry("s", entry.entry_id)
    assert await ledger.search("engine") == []


async def test_a_fork_finds_what_it_inherited_by_the_vectors_of_its_parent(ledger: MemoryLedger) -> None:
    """Also when the parent changed the text, or removed it before it had a vector."""
    entry = await ledger.add_user_message("s", "my retriever")
    other = await ledger.add_user_message("s", "an engine")
    await ledger.fork("s", "f")
    await ledger.remove_entry("s", other.entry_id)
    assert await ledger.embed_pending() == 2
    await ledger.fork("s", "g")
    await ledger.edit_entry("s", entry.entry_id, "my espresso")
    assert await ledger.embed_pending() == 1

    async def found(query: str, session: str) -> list[tuple[str, str]]:
        hits = await ledger.search(query, session_id=session)
        return [(hit.session_id, hit.text) for hit in hits if hit.score >= 0.4]

    assert await found("puppy", "g") == [("g", "my retriever")]
    assert await found("car", "f") == [("f", "an engine")]
    assert await found("latte", "s") == [("s", "my espresso")]
    assert await ledger.embed_pending() == 0


async def test_a_rebuild_keeps_what_was_paid_for(ledger: MemoryLedger, endpoint: Endpoint) -> None:
    await talk(ledger)
    await ledger.embed_pending()
    await ledger.rebuild_projections("search")
    assert await ledger.embed_pending() == 0
    assert [item.text for item in await ledger.search("puppy", top_k=1)] == ["my retriever is called Archie"]


async def test_a_new_model_is_embedded_beside_the_old_one_which_search_uses_meanwhile(
    store: Store, namespace: str, ledger: MemoryLedger, endpoint: Endpoint
) -> None:
    await talk(ledger)
    await ledger.embed_pending()
    other = OpenAIEmbedder(model="other", base_url=endpoint.url, max_retries=0, timeout_s=30)
    async with MemoryLedger.open(namespace=namespace, store=store, embedder=other) as newer:
        assert await newer.search("puppy") == [], "words alone, until the new model has vectors"
        assert await newer.embed_pending() == 3
        for each in (ledger, newer):
            assert [item.text for item in await each.search("puppy", top_k=1)] == ["my retriever is called Archie"]
    await other.close()


async def test_a_large_backlog_is_embedded_in_batches_and_continues_after_a_failure(
    ledger: MemoryLedger, endpoint: Endpoint
) -> None:
    await ledger.add_entries("s", [{"role": "user", "content": f"dog {number}"} for number in range(300)])
    endpoint.answers(embeds(vector_of), embeds(vector_of), status(503))
    with pytest.raises(EmbedderFailed):
        await ledger.embed_pending()
    endpoint.answers(embeds(vector_of))
    left = await ledger.embed_pending()
    assert 300 - 2 * 64 <= left <= 301 - 2 * 64, "a summary may be among them"
    asked = len(endpoint.asked)
    assert max(len(request["input"]) for request in endpoint.asked) == 64
    assert await ledger.embed_pending() == 0
    assert len(endpoint.asked) == asked


async def test_texts_are_looked_for_only_after_an_event(
    store: Store, ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk(ledger)
    await ledger.embed_pending()
    look, looked = store.search.to_embed, []

    async def to_embed(*args: object, **more: object) -> object:
        looked.append(args)
        return await look(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(store.search, "to_embed", to_embed)
    assert await ledger.embed_pending() == 0
    assert looked == []
    await ledger.add_user_message("s", "a puppy")
    assert await ledger.embed_pending() == 1
    assert looked


async def test_without_pgvector_words_find_and_the_log_says_so_once(
    store: Store, ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def stores_embeddings() -> bool:
        return False

    monkeypatch.setattr(store.search, "stores_embeddings", stores_embeddings)
    await talk(ledger)
    for _ in range(2):
        assert [item.text for item in await ledger.search("espresso")] == ["an espresso in the morning"]
        assert await ledger.embed_pending() == 0
    assert [record.message for record in caplog.records if "pgvector" in record.message] == [
        "an embedder is set, but this database has no pgvector: search uses words only"
    ]


async def test_when_the_endpoint_is_down_words_still_find(ledger: MemoryLedger, endpoint: Endpoint) -> None:
    await talk(ledger)
    endpoint.answers(status(503))
    assert [item.text for item in await ledger.search("espresso")] == ["an espresso in the morning"]
    with pytest.raises(EmbedderFailed, match="503"):
        await ledger.embed_pending()


@pytest.mark.parametrize(
    "behaviour",
    [
        status(400),
        hang_up,
        raw(b"no json"),
        gives({"data": []}),
        gives({"object": "list", "data": [{"index": 0}]}),
        gives({"data": [{"index": 0, "embedding": []}]}),
        gives({"data": [{"index": 0, "embedding": ["x"]}]}),
        embeds(lambda text: [math.nan]),
    ],
    ids=["400", "hang_up", "no_json", "none", "no_vector", "empty", "no_numbers", "nan"],
)
async def test_an_unusable_answer_fails_clearly(endpoint: Endpoint, embedder: OpenAIEmbedder, behaviour) -> None:
    endpoint.answers(behaviour)
    with pytest.raises(EmbedderFailed):
        await embedder.embed(["a"])


async def test_no_answer_in_time_fails_clearly(endpoint: Endpoint) -> None:
    endpoint.answers(hang)
    embedder = OpenAIEmbedder(model="scripted", base_url=endpoint.url, max_retries=0, timeout_s=0.2)
    with pytest.raises(EmbedderFailed, match="in time"):
        await embedder.embed(["a"])
    await embedder.close()


async def test_vectors_come_back_in_the_order_of_the_texts(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    assert await embedder.embed(["car", "dog"]) == [vector_of("car"), vector_of("dog")]
    assert endpoint.asked[0]["model"] == "scripted"
    assert endpoint.asked[0]["encoding_format"] == "float"


def test_without_a_key_or_an_address_the_error_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        OpenAIEmbedder(model="m")


async def test_the_environment_names_the_model(
    endpoint: Endpoint, store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not await store.records.stores_embeddings():
        pytest.skip("this server has no pgvector")
    monkeypatch.setenv("MEMORY_LEDGER_EMBEDDER_MODEL", "scripted")
    monkeypatch.setenv("MEMORY_LEDGER_EMBEDDER_BASE_URL", endpoint.url)
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        await talk(ledger)
        assert await ledger.embed_pending() == 3


def test_fusing_rewards_what_several_rankings_have() -> None:
    """Scaled scores, words with .6 and meaning with .4."""
    assert fuse([("a", 8.0), ("b", 6.0), ("c", 4.0)], [("b", 0.9), ("d", 0.4)]) == [
        ("b", pytest.approx(0.6 * 0.5 + 0.4)),
        ("a", pytest.approx(0.6)),
        ("c", 0.0),
        ("d", 0.0),
    ]
    assert fuse([("a", 3.0)], [("b", 0.1)]) == [("a", pytest.approx(0.6)), ("b", pytest.approx(0.4))], "one hit is best"
    long = [(number, float(-number)) for number in range(150)]
    assert dict(fuse(long, []))[99] == dict(fuse(long, []))[149] == 0.0, "scaled over the best hundred"
    assert [item for item, _ in fuse(long, [])] == list(range(150)), "equals: the earlier one first"
    assert fuse([], []) == []
