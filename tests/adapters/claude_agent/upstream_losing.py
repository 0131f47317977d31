"""A plugin that puts a store in the place of the SDK's own that loses the last line of each batch."""

from typing import Any

import claude_agent_sdk

from tests.adapters.claude_agent.upstream import StoreUnderTest


class LosingStore(StoreUnderTest):
    """Forgets the last line of each batch."""

    async def append(self, key: Any, entries: Any) -> None:
        await super().append(key, entries[:-1])


claude_agent_sdk.InMemorySessionStore = LosingStore
