"""A plugin that puts a session in the place of the SDK's own that loses the last item of each batch."""

import agents
import agents.memory
import agents.memory.sqlite_session
from upstream import SessionUnderTest


class LosingSession(SessionUnderTest):
    """Forgets the last item of each batch."""

    async def add_items(self, items, *, wrapper=None):  # type: ignore[no-untyped-def]
        await super().add_items(items[:-1], wrapper=wrapper)


for module in (agents, agents.memory, agents.memory.sqlite_session):
    module.SQLiteSession = LosingSession  # type: ignore[misc]
