"""A plugin of pytest that puts our session under the names of the SDK's own. Source: adapters AD-15, OA-10."""

import ast
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import Any

import agents
import agents.memory
import agents.memory.sqlite_session

from ledger.adapters.large_items import LargeValues
from ledger.adapters.openai_agents import MemoryLedgerSession
from ledger.adapters.openai_agents.response_entries import drafts_of, item_of
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore

sys.path.insert(0, str(Path.cwd()))
from tests.utils import simple_session


@cache
def store_of(path: str) -> InMemoryStore:
    return InMemoryStore()


class SessionUnderTest(MemoryLedgerSession):
    """Ours, with the arguments of the SDK's `SQLiteSession`; sessions of one path share a ledger."""

    def __init__(
        self, session_id: str, db_path: Any = ":memory:", *tables: str, session_settings: Any = None, **named: str
    ) -> None:
        store = (
            InMemoryStore()
            if str(db_path) == ":memory:"
            else store_of("|".join([str(db_path), *tables, *named.values()]))
        )
        super().__init__(session_id, session_settings=session_settings, store=store)

    def close(self) -> Any:
        """Close at once, since the SDK's is not awaited; what it returns may be."""
        self._opened.leave()

        async def done() -> None:
            pass

        return done()


class ListUnderTest(MemoryLedgerSession):
    """Ours, with what the SDK's `SimpleListSession` has: it cannot replace items in one write."""

    _get_compaction_snapshot = None
    _atomic_replace_items = None

    def __init__(self, session_id: str = "test", history: Any = None) -> None:
        MemoryLedgerSession.__init__(self, session_id, store=InMemoryStore())
        self._ignore_ids_for_matching = False
        if history:
            self._opened.call(lambda ledger: self._added(ledger, list(history)))

    @property
    def saved_items(self) -> list[Any]:
        return self._opened.call(self._listed)

    @property
    def _items(self) -> list[Any]:
        return self.saved_items

    async def _listed(self, ledger: MemoryLedger) -> list[Any]:
        return [item_of(entry) for entry in await ledger.get_transcript(self._name)]

    async def _added(self, ledger: MemoryLedger, items: list[Any]) -> None:
        large = LargeValues()
        await self.adding(drafts_of(items, large), large)(ledger)


for module in (agents, agents.memory, agents.memory.sqlite_session):
    module.SQLiteSession = SessionUnderTest
# its subclasses beside it are to be ours too, so they are defined again
rest = ast.parse(inspect.getsource(simple_session))
rest.body = [node for node in rest.body if getattr(node, "name", None) != "SimpleListSession"]
simple_session.SimpleListSession = ListUnderTest
exec(compile(rest, simple_session.__file__, "exec"), vars(simple_session))
