"""Which parts of an item are searched: `index` of a store and of a put, on PostgreSQL. Source: adapters LG-15."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langgraph.store.base import PutOp

from ledger.adapters.langgraph import LedgerStore
from ledger.adapters.langgraph.store_items import USER as RECORDS
from ledger.adapters.langgraph.store_items import item_id, text_id
from ledger.errors import InvalidInput
from ledger.long_term_memory.record_writer import RecordWriter
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore

DOCS = ("docs",)
FIELDS = {"fields": ["title", "parts[*].text"]}


class Letters:
    """An embedder: how often a text has each of three words; it remembers what it was asked."""

    model = "letters"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[0.01, *(float(text.count(word)) for word in ("plum", "pear", "fig"))] for text in texts]


@pytest.fixture
def store(own_ledger: MemoryLedger) -> LedgerStore:
    return LedgerStore(own_ledger, index=FIELDS)


@pytest.fixture
async def letters(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[tuple[LedgerStore, Letters]]:
    """A store that searches by meaning, and its embedder."""
    embedder = Letters()
    async with MemoryLedger.open(namespace=namespace, store=postgres_store, embedder=embedder) as ledger:
        if not await postgres_store.records.stores_embeddings():
            pytest.skip("the server has no pgvector")
        yield LedgerStore(ledger, index=FIELDS), embedder


async def keys(store: LedgerStore, query: str) -> list[str]:
    return [item.key for item in await store.asearch(DOCS, query=query)]


async def test_only_the_fields_of_the_store_are_searched(store: LedgerStore) -> None:
    await store.aput(DOCS, "a", {"title": "plums", "parts": [{"text": "pears"}, {"text": "figs"}], "note": "tea"})
    await store.aput(DOCS, "b", {"title": "tea", "note": "plums"})
    assert await keys(store, "plums") == ["a"]
    assert await keys(store, "figs") == ["a"]
    assert await keys(store, "tea") == ["b"]
    (found,) = await store.asearch(DOCS, query="pears figs plums")
    assert found.value["note"] == "tea"
    assert [item.key for item in await store.asearch(DOCS)] == ["a", "b"]
    assert await keys(LedgerStore(store._opened, index={"fields": ["note"]}), "figs") == ["a"], "it is of each put"


async def test_a_put_says_what_is_searched_of_its_item(store: LedgerStore) -> None:
    await store.aput(DOCS, "a", {"title": "plums", "note": "tea"}, index=["note", "missing", "empty"])
    await store.aput(DOCS, "b", {"title": "plums"}, index=False)
    await store.aput(DOCS, "c", {"title": "figs", "note": "\x00tea plums"}, index=["$", "note"])
    assert sorted(await keys(store, "tea")) == ["a", "c"]
    assert await keys(store, "plums") == ["c"]
    assert await keys(store, "figs") == ["c"]
    found = await store.aget(DOCS, "b")
    assert found is not None
    assert found.value == {"title": "plums"}


async def test_what_an_earlier_value_had_is_found_no_more(store: LedgerStore, own_ledger: MemoryLedger) -> None:
    many = {"title": "plums", "parts": [{"text": f"pears {number}"} for number in range(5)]}
    await store.aput(DOCS, "a", many)
    await store.aput(DOCS, "a", {"title": "figs"})
    assert await keys(store, "pears") == []
    assert await keys(store, "figs") == ["a"]
    await store.aput(DOCS, "a", {"title": "figs"}, index=["$"])
    assert await keys(store, "title") == ["a"]
    await store.aput(DOCS, "a", many)
    await store.adelete(DOCS, "a")
    assert await keys(store, "pears") == []
    left = await own_ledger.long_term.search({"user_id": {"eq": RECORDS}})
    assert left.total == 0, "no record stays"


async def test_records_of_a_lost_race_are_not_found(store: LedgerStore, own_ledger: MemoryLedger) -> None:
    """Two processes put one item, and neither saw the other: the later put decides what is searched."""
    await store.aput(DOCS, "a", {"title": "figs"})
    text = await own_ledger.long_term.get(text_id(item_id(DOCS, "a"), 0))
    stray = {**text.as_json(), "id": text_id(item_id(DOCS, "a"), 7), "text": "pears"}
    stray |= {"session_id": "stray", "metadata": {**text.metadata, "at": 7}}
    await own_ledger.long_term.create([stray], deduplicate=False)
    assert await keys(store, "pears") == []
    assert (await own_ledger.long_term.search({"text": "pears"})).total == 1, "the control: the record is there"


async def test_the_nearest_field_decides_and_what_is_not_searched_is_not_embedded(
    letters: tuple[LedgerStore, Letters],
) -> None:
    store, embedder = letters
    await store.aput(DOCS, "a", {"title": "plum", "parts": [{"text": "fig"}], "note": "secret"})
    await store.aput(DOCS, "b", {"title": "plum pear fig"})
    await store.aput(DOCS, "c", {"title": "secret"}, index=False)
    found = await store.asearch(DOCS, query="fig")
    assert [item.key for item in found] == ["a", "b", "c"]
    assert found[0].score is not None
    assert found[1].score is not None
    assert found[0].score > found[1].score + 0.2
    assert found[2].score is None, "it fills the page, as in the SDK's own store"
    assert [item.key for item in await store.asearch(DOCS, query="fig", limit=2)] == ["a", "b"]
    assert not any("secret" in text for text in embedder.asked)
    await store.aput(DOCS, "c", {"title": "secret fig"}, index=["$"])
    assert (await store.asearch(DOCS, query="fig"))[2].score is not None
    assert any("secret" in text for text in embedder.asked), "the control: a whole value is embedded"


async def test_puts_and_deletions_of_a_batch_are_one_write(
    store: LedgerStore, own_ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = RecordWriter.write, []

    async def counted(*args: Any) -> Any:
        found = await write(*args)
        written.append([event.type for stream in found for event in stream.events])
        return found

    await store.aput(DOCS, "a", {"title": "plums"})
    monkeypatch.setattr(RecordWriter, "write", counted)
    await store.abatch([PutOp(DOCS, "a", None), PutOp(DOCS, "b", {"title": "figs"}), PutOp(DOCS, "z", None)])
    assert written == [["record.created"] * 2 + ["record.deleted"] * 2]
    await own_ledger.long_term.delete([item_id(DOCS, "b"), item_id(DOCS, "z")])
    assert len(written) == 2, "the control: another change is another write"


@pytest.mark.parametrize("index", [{"embed": len}, {"dims": 3, "fields": ["a"]}, {"fields": "title"}])
def test_options_that_the_ledger_does_not_have_are_refused(index: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"embedder|list of paths"):
        LedgerStore.open(store=InMemoryStore(), index=index)
