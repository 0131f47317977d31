"""Whichever request to PostgreSQL is lost, or its answer, nothing is half-written. Source: trust P-11, F-10."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Literal

import pytest

from ledger.stores.postgres import event_store
from tests.support.every_call import Failing, FailingAt, check_every_call
from tests.support.killable_server import KillableServer
from tests.support.operations import OPERATIONS
from tests.support.proxy import Lost, proxy
from tests.support.writers_under_load import opened

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.xdist_group("killed servers")]


#: Operation, fate of a request, and how long the store itself tries again; all others are slow tests.
QUICK = [("batch", "before", 10), ("batch", "after", 0), ("compress", "after", 0), ("import", "after", 0)]


class LosesNth:
    """Loses one request, counted from when it is *armed*."""

    def __init__(self, n: int, fate: Lost) -> None:
        self._n = n
        self._fate = fate
        self._requests = 0
        self.armed = False

    @property
    def lost(self) -> bool:
        """Whether it did."""
        return self._requests >= self._n

    def __call__(self, request: bytes) -> Lost:
        self._requests += self.armed
        return self._fate if self.armed and self._requests == self._n else None


def losing(
    killable: KillableServer, database: str, fate: Literal["before", "after"], *, patience_s: float
) -> FailingAt:
    """Return the store on *database*, behind a proxy that loses one request."""

    @asynccontextmanager
    async def failing_at(n: int) -> AsyncIterator[Failing]:
        loses = LosesNth(n, fate)
        async with (
            proxy(killable.socket_dir, loses) as folder,
            opened(killable.target(database, via=folder), patience_s=patience_s) as store,
        ):
            loses.armed = True
            yield Failing(store, lambda: loses.lost)

    return failing_at


@pytest.mark.parametrize(
    ("name", "fate", "patience_s"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow)
        for case in product(OPERATIONS, ("before", "after"), (0, 10))
    ],
)
async def test_an_operation_whose_nth_request_is_lost_is_done_once_by_a_retry(
    killable: KillableServer,
    database: str,
    namespace: str,
    name: str,
    fate: Literal["before", "after"],
    patience_s: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_store, "CALL_EVENTS", 150)  # so that an import takes several calls
    async with opened(killable.target(database)) as sound:
        failing_at = losing(killable, database, fate, patience_s=patience_s)
        assert await check_every_call(OPERATIONS[name], sound, failing_at, namespace) >= 2
