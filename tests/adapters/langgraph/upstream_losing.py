"""A plugin that puts a store in the place of the SDK's own that loses the last operation of each batch."""

from collections.abc import Iterable

import langgraph.store.memory
from langgraph.store.base import Op, PutOp, Result
from upstream import StoreUnderTest  # type: ignore[import-not-found]  # a folder on the path of the SDK's tests


class LosingStore(StoreUnderTest):  # type: ignore[misc]
    """Forgets what is put."""

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [None if isinstance(op, PutOp) else super(LosingStore, self).batch([op])[0] for op in ops]


langgraph.store.memory.InMemoryStore = LosingStore  # type: ignore[misc]
