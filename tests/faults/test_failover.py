"""A failover to a standby, a recovery to a moment, and a URL of both servers. Source: trust F-6, F-17, P-1, K-2."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from ledger.events.clock import SystemClock
from ledger.ports import Receipt
from ledger.stores.postgres import Target
from ledger.stores.postgres.connector import Connector
from ledger.stores.postgres.database_login import create_login
from ledger.stores.postgres.migration import upgrade
from tests.server.conftest import running
from tests.support import http_client
from tests.support.own_cluster import Cluster, cluster
from tests.support.patience import within
from tests.support.writers_under_load import Writer, assert_stored, opened, streams_of

pytestmark = [pytest.mark.full, pytest.mark.postgres, pytest.mark.timeout(120)]

ANSWERS_WITHIN_S = 5.0
PASSWORD = "secret-of-this-test"
STATE = "/v1/sessions/s/state"


@pytest.fixture
def primary() -> Iterator[Cluster]:
    """A primary with a ledger."""
    with cluster() as found:
        upgrade(found.server.url)
        create_login(found.server.url, "me", PASSWORD)
        yield found


def url_of(*clusters: Cluster) -> str:
    """Return the URL of whichever of *clusters* takes writes."""
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in clusters)
    return f"postgresql://me:{PASSWORD}@{hosts}/postgres?target_session_attrs=read-write"


async def fail_over(primary: Cluster, standby: Cluster, namespace: str) -> None:
    """Let four writers append, promote the standby of a killed primary, and compare what was acknowledged."""
    acknowledged: list[Receipt] = []
    target = Target(url_of(primary, standby))
    async with opened(target) as one, opened(target, group_commit=False) as two:
        writers = [
            asyncio.create_task(
                Writer(store, streams_of(namespace), name, lambda answer: acknowledged.extend(answer.receipts)).run()
            )
            for store, name in ((one, "a"), (one, "b"), (two, "c"), (two, "d"))
        ]
        try:
            await asyncio.sleep(1)
            await asyncio.to_thread(primary.stop, "immediate")
            await asyncio.to_thread(standby.promote)
            promoted, before = time.monotonic(), len(acknowledged)
            while len(acknowledged) < before + 20:
                assert time.monotonic() < promoted + within(ANSWERS_WITHIN_S), "it does not answer yet"
                await asyncio.sleep(0.01)
        finally:
            for writer in writers:
                writer.cancel()
            endings = await asyncio.gather(*writers, return_exceptions=True)
    assert all(isinstance(ending, asyncio.CancelledError) for ending in endings), endings
    async with opened(Target(url_of(standby))) as store:
        await assert_stored(store, namespace, acknowledged)


async def test_nothing_acknowledged_is_lost_in_a_failover(primary: Cluster, namespace: str) -> None:
    with primary.standby() as standby:
        primary.set(synchronous_standby_names="*")
        await fail_over(primary, standby, namespace)


async def test_a_host_that_vanished_is_noticed_unless_the_url_says_when(primary: Cluster) -> None:
    """It closes no connection, and the system's own limit is a quarter of an hour."""
    limits = {}
    for more in ("", "&tcp_user_timeout=3000&connect_timeout=2"):
        connection = await Connector(Target(url_of(primary) + more)).connect()
        found = connection.info.get_parameters()
        limits[more] = [int(found[name]) for name in ("tcp_user_timeout", "connect_timeout", "keepalives_idle")]
        await connection.close()
    assert list(limits.values()) == [[10_000, 10, 10], [3_000, 2, 10]]


@pytest.mark.slow
async def test_a_standby_that_is_behind_loses_what_was_acknowledged(primary: Cluster, namespace: str) -> None:
    """Negative control: the primary waited for no standby."""
    with primary.standby() as standby:
        standby.unfollow()
        with pytest.raises(AssertionError, match=r"[1-9]\d* of \d+ acknowledged events are lost"):
            await fail_over(primary, standby, namespace)


@contextmanager
def failover(primary: Cluster) -> Iterator[tuple[Cluster, Callable[[], None], Callable[[], None]]]:
    """Yield a standby, how it stops to follow, and how it becomes the primary."""
    with primary.standby() as standby:

        def mark() -> None:
            primary.wait_for(standby)
            standby.unfollow()

        def go_back() -> None:
            primary.stop("immediate")
            standby.promote()

        yield standby, mark, go_back


@contextmanager
def recovery(primary: Cluster) -> Iterator[tuple[Cluster, Callable[[], None], Callable[[], None]]]:
    """Yield a base backup, how its moment is chosen, and how it is recovered to it."""
    moments: list[datetime] = []
    primary.archive()
    restored = primary.base_backup("restored")

    def mark() -> None:
        time.sleep(0.1)
        moments.append(SystemClock().now())
        time.sleep(0.1)

    def go_back() -> None:
        primary.archive_all()
        primary.stop("immediate")
        restored.recover(moments[0])

    try:
        yield restored, mark, go_back
    finally:
        restored.stop("immediate")


@pytest.mark.slow
@pytest.mark.parametrize("way", [failover, recovery])
def test_clients_of_a_running_service_learn_that_the_log_went_back(primary: Cluster, way: Any) -> None:
    """The lost event is regrown with another, so that the numbers are the same again."""
    with way(primary) as (other, mark, go_back), running(Target(url_of(primary, other))) as service:

        def say(text: str) -> int:
            body = {"entries": [{"role": "user", "content": text}]}
            answer = http_client.post(f"{service.url}/v1/sessions/s/entries", json=body)
            return answer.status_code

        assert say("kept") == 201
        mark()
        assert say("lost") == 201
        lost = http_client.get(f"{service.url}{STATE}").headers["etag"]
        go_back()
        # the first that looks is told, once; then the log is shown as it is
        answer = http_client.get(f"{service.url}{STATE}")
        while answer.status_code == 503 and answer.json()["code"] != "log_rolled_back":
            time.sleep(0.1)
            answer = http_client.get(f"{service.url}{STATE}")
        assert answer.status_code == 503, answer.text
        assert answer.json()["code"] == "log_rolled_back"
        shown = http_client.get(f"{service.url}{STATE}", headers={"If-None-Match": lost})
        assert (shown.status_code, [entry["content"] for entry in shown.json()["entries"]]) == (200, ["kept"])
        for path in ("/v1/sessions/s/events/stream", "/v1/events/stream"):
            ahead = http_client.get(f"{service.url}{path}", headers={"Last-Event-ID": "3"})
            assert (ahead.status_code, ahead.json()["code"]) == (422, "last_event_id_ahead"), path
        assert say("another") == 201
        regrown = http_client.get(f"{service.url}{STATE}", headers={"If-None-Match": lost})
        assert (regrown.status_code, regrown.json()["version"]) == (200, 3)
        assert lost.startswith('"3-'), "the same number, but another event"
        body = {"entries": [{"role": "user", "content": "for the lost version"}]}
        stale = http_client.post(f"{service.url}/v1/sessions/s/entries", json=body, headers={"If-Match": lost})
        assert stale.status_code == 412
        report = http_client.post(f"{service.url}/v1/sessions/s/verify", headers=http_client.JSON).json()
        assert (report["verdict"], report["checked"]) == ("OK-CHAINED", 3), json.dumps(report)
