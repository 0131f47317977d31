"""A worker in a process of its own that dies at a named point. Source: trust F-2.

Arguments: database URL, namespace, URL of the endpoint, the point, and how often it is passed before.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from ledger.indexes.jobs import due
from ledger.ports import Store
from ledger.stores.postgres import PostgresStore, Target
from tests.support.model_endpoint import Endpoint
from tests.support.model_scene import model_at
from tests.support.worker_scene import work

POINTS = ("claimed", "asked", "answered", "before the append", "after the append", "before it is left", "none")
#: Of a process that was killed, so that its work is taken on soon.
SHORT = {"lease_s": 0.2, "compaction_lease_s": 0.2}


class Killer:
    """Kills this process at *point*, when it is passed for the last of *times*."""

    def __init__(self, point: str, times: int) -> None:
        self._point, self._times = point, times

    def hit(self, point: str) -> None:
        if point == self._point:
            self._times -= 1
            if self._times <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(
        self, call: Callable[..., Awaitable[Any]], *, before: str = "", after: str = "", if_any: bool = False
    ) -> Callable[..., Awaitable[Any]]:
        """Return *call* with points before and after it."""

        async def killing(*args: Any, **options: Any) -> Any:
            self.hit(before)
            answer = await call(*args, **options)
            if answer or not if_any:
                self.hit(after)
            return answer

        return killing


def armed(store: Store, killer: Killer) -> None:
    """Let *killer* watch what *store* is asked for."""
    events: Any = store.events
    jobs: Any = store.jobs
    jobs.claim = killer.around(jobs.claim, after="claimed", if_any=True)
    events.append = killer.around(events.append, before="before the append", after="after the append")
    jobs.release = killer.around(jobs.release, before="before it is left")


async def main(url: str, namespace: str, endpoint: str, point: str, times: str) -> None:
    due.UNSTARTED_S = 0.0  # type: ignore[misc]
    killer = Killer(point, int(times))
    store = await PostgresStore.open(Target(url, embedded=True))
    armed(store, killer)
    async with model_at(Endpoint(endpoint)) as model:
        watched: Any = model
        watched.summarize = killer.around(model.summarize, before="asked", after="answered")
        await work(store, namespace, model, **SHORT)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
