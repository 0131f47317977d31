"""A plugin of pytest that puts our session store under the name of the SDK's own. Source: adapters AD-15."""

from typing import Any

import claude_agent_sdk
from claude_agent_sdk._internal import session_store

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.adapters.claude_agent.claude_session_store import _load
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore


class StoreUnderTest(LedgerSessionStore):
    """Ours, with the test helpers that the SDK's own has; each on a ledger of its own, used from any event loop."""

    def __init__(self) -> None:
        super().__init__(store=InMemoryStore())

    def get_entries(self, key: Any) -> list[Any]:
        return self._now(lambda ledger: _load(ledger, key, {})) or []

    @property
    def size(self) -> int:
        async def count(ledger: MemoryLedger) -> int:
            return len([row for row in await ledger.list_sessions(status="live") if "#" not in row.session_id])

        return int(self._now(count))

    def _now(self, work: Any) -> Any:
        return self._opened.call(work)


claude_agent_sdk.InMemorySessionStore = StoreUnderTest
session_store.InMemorySessionStore = StoreUnderTest
