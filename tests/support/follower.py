"""A follower: reads a namespace by position while others write, and records everything it reads."""

import asyncio
from uuid import UUID

from ledger.ports import Store


class Follower:
    """Reads the events after the last position it saw, as a subscriber does. Source: trust P-5."""

    def __init__(self, store: Store, namespace_id: UUID, *, limit: int = 100) -> None:
        self._store = store
        self._namespace_id = namespace_id
        self._limit = limit
        self.seen: list[tuple[int, UUID]] = []
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        last = 0
        while True:
            page = await self._store.events.read_namespace(self._namespace_id, after=last, limit=self._limit)
            self.seen += [(event.position, event.event_id) for event in page]
            last = page[-1].position if page else last
            await asyncio.sleep(0)

    async def caught_up(self, position: int) -> None:
        """Wait until it has seen *position*, or fail."""
        async with asyncio.timeout(20):
            while not self.seen or self.seen[-1][0] < position:
                if self._task.done():
                    self._task.result()
                await asyncio.sleep(0.005)

    async def stop(self) -> list[tuple[int, UUID]]:
        """Stop and return positions and ids in the order they were seen."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.seen

    async def finish(self) -> None:
        """Stop, and assert that nothing was missed, seen twice or out of order."""
        seen = await self.stop()
        log = await self._store.events.read_namespace(self._namespace_id, limit=len(seen) + 1_000)
        assert [position for position, _ in seen] == list(range(1, len(seen) + 1)), "the follower saw a gap"
        assert seen == [(event.position, event.event_id) for event in log][: len(seen)]
        assert len(seen) == len(log), "the follower missed events"
