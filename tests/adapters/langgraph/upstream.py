"""A plugin of pytest that puts our store under the name of the SDK's own. Source: adapters AD-15, LG-15."""

from collections.abc import Sequence
from typing import Any

import langgraph.store.memory

from ledger.adapters.langgraph import LedgerStore
from ledger.adapters.opened_ledger import OpenedLedger
from ledger.stores.in_memory import InMemoryStore


class Embedding:
    """The embeddings of a test as an embedder of the ledger."""

    model = "of the test"

    def __init__(self, embeddings: Any) -> None:
        self._embeddings = embeddings

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [list(map(float, each)) for each in self._embeddings.embed_documents(list(texts))]


class StoreUnderTest(LedgerStore):
    """Ours, each on an empty ledger, as each of the SDK's own is empty."""

    def __init__(self, *, index: Any = None) -> None:
        embedder = {"embedder": Embedding(index["embed"])} if index else {}
        fields = {"fields": index.get("fields")} if index else None
        super().__init__(OpenedLedger(what="the store", store=InMemoryStore(), **embedder), index=fields)


langgraph.store.memory.InMemoryStore = StoreUnderTest  # type: ignore[misc, assignment]
