"""A primary that is frozen while its standby is promoted: writers go on, and what it had is stored once.

Source: trust F-6, P-1, P-21.
"""

import asyncio
import time
from collections.abc import Iterator

import psutil
import pytest

from ledger.errors import DatabaseUnavailable
from ledger.ports import Receipt
from ledger.stores.postgres import PostgresStore, Target
from ledger.stores.postgres.database_login import create_login
from ledger.stores.postgres.migration import upgrade
from tests.faults.test_failover import PASSWORD, url_of
from tests.support.frozen import frozen
from tests.support.own_cluster import Cluster, cluster
from tests.support.patience import within
from tests.support.store_requests import an_event, append
from tests.support.writers_under_load import Writer, assert_stored, opened, streams_of

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.timeout(120)]

TIMEOUT_S = 4.0


@pytest.fixture
def primary() -> Iterator[Cluster]:
    """A primary with a ledger."""
    with cluster() as found:
        upgrade(found.server.url)
        create_login(found.server.url, "me", PASSWORD)
        yield found


def writers(one: PostgresStore, two: PostgresStore, namespace: str, acknowledged: list[Receipt]) -> list[Writer]:
    """Return two writers of each store, which remember what is acknowledged."""
    streams = streams_of(namespace)
    named = ((one, "a"), (one, "b"), (two, "c"), (two, "d"))
    return [Writer(store, streams, name, lambda answer: acknowledged.extend(answer.receipts)) for store, name in named]


async def test_writers_go_on_beside_a_frozen_primary(primary: Cluster, namespace: str) -> None:
    """They do also when it wakes; with a synchronous standby it acknowledges no write of anybody."""
    acknowledged: list[Receipt] = []
    with primary.standby() as standby:
        primary.set(synchronous_standby_names="*")
        target = Target(url_of(primary, standby), timeout_s=TIMEOUT_S)
        async with opened(target) as one, opened(target, group_commit=False) as two:
            tasks = [asyncio.create_task(each.run()) for each in writers(one, two, namespace, acknowledged)]
            try:
                await asyncio.sleep(1)
                with frozen(psutil.Process(primary.postmaster_id)):
                    await asyncio.to_thread(standby.promote)
                    await until_more(acknowledged, 20, within(TIMEOUT_S + 3))
                async with opened(target, patience_s=0) as late:  # its connections are to the old primary
                    with pytest.raises(DatabaseUnavailable):
                        await append(late, streams_of(namespace)[0], an_event("seen by nobody"))
                await until_more(acknowledged, 20, within(TIMEOUT_S + 3))
            finally:
                for task in tasks:
                    task.cancel()
                endings = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(ending, asyncio.CancelledError) for ending in endings), endings
        async with opened(Target(url_of(standby))) as store:
            await assert_stored(store, namespace, acknowledged)


async def until_more(acknowledged: list[Receipt], number: int, seconds: float) -> None:
    """Return when *number* more are acknowledged; fail if that takes longer than *seconds*."""
    began, before = time.monotonic(), len(acknowledged)
    while len(acknowledged) < before + number:
        assert time.monotonic() - began < seconds, "it does not answer yet"
        await asyncio.sleep(0.01)
    print(f"{number} more after {time.monotonic() - began:.1f} s")
