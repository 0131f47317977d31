"""`verify` raises no false alarm, whatever was legally written, and while it is written. Source: trust P-7."""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from ledger.events.ids import Stream, namespace_id
from ledger.ports import Store
from ledger.stores.postgres import PostgresStore
from ledger.verification import verify_namespace, verify_session
from tests.postgres.conftest import opened
from tests.support.attacked_log import without_guards
from tests.support.databases import Server
from tests.support.legal_histories import Author

pytestmark = pytest.mark.postgres

SIDE_BY_SIDE = 8


@pytest.fixture
async def store(server: Server, quiet_database: str) -> AsyncIterator[Store]:
    """A store on a database of this module's own."""
    async with opened(server.target(quiet_database)) as store:
        yield store


async def check_history(store: Store, namespace: str, seed: int) -> int:
    """Write a history, verify it again and again meanwhile, and return how many events it has."""
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(Author(store, namespace, random.Random(seed)).write())
        while not writing.done():
            report = await verify_namespace(store, namespace)
            assert report.ok, (seed, report)
            await asyncio.sleep(0.005)
    report = await verify_namespace(store, namespace)
    assert report.ok, (seed, report)
    overview = await store.events.overview(namespace_id(namespace))
    checked = 0
    for head in overview[1] if overview else ():
        session = await verify_session(store, Stream.of(namespace, head.session_id, head.user_id))
        assert session.ok, (seed, session)
        checked += session.checked - (head.parent_version or 0)  # what it shares counts once
    assert checked == report.checked
    return checked


async def check_histories(store: Store, namespace: str, seed: int, count: int) -> None:
    """Check *count* histories, several side by side."""
    turns = asyncio.Semaphore(SIDE_BY_SIDE)

    async def check(number: int) -> int:
        async with turns:
            return await check_history(store, f"{namespace}-{number}", seed + number)

    async with asyncio.TaskGroup() as group:
        checks = [group.create_task(check(number)) for number in range(count)]
    assert sum(check.result() for check in checks) > 5 * count, "the histories are not about nothing"


async def test_legal_histories_raise_no_alarm(store: Store, namespace: str, seed: int) -> None:
    await check_histories(store, namespace, seed, 50)


@pytest.mark.slow
async def test_ten_thousand_legal_histories_raise_no_alarm(store: Store, namespace: str, seed: int) -> None:
    await check_histories(store, namespace, seed, 10_000)


@pytest.mark.full
async def test_one_changed_bit_in_any_history_raises_it(
    server: Server, fresh_store: PostgresStore, fresh_database: str, namespace: str, seed: int
) -> None:
    """Negative control: the histories that raise no alarm do so because nothing is wrong with them."""
    dice = random.Random(seed)
    with server.superuser(fresh_database) as mighty:
        for number in range(20):
            name = f"{namespace}-{number}"
            if not await check_history(fresh_store, name, seed + number):
                continue  # everything was refused
            with without_guards(mighty):
                flip(mighty, name, dice)
            report = await verify_namespace(fresh_store, name)
            assert report.verdict == "TAMPERED", (seed, number)


def flip(mighty: psycopg.Connection[Any], namespace: str, dice: random.Random) -> None:
    """Flip one bit of the bytes, the digest or the hash of one event."""
    rows = mighty.execute(
        "SELECT position, content IS NOT NULL FROM ledger.events WHERE namespace_id = %s ORDER BY position",
        (namespace_id(namespace),),
    ).fetchall()
    position, has_content = dice.choice(rows)
    column = dice.choice(("structure", "hash", *(("content", "content_digest") if has_content else ())))
    changed = mighty.execute(
        f"UPDATE ledger.events SET {column} = set_bit({column}, %(bit)s, 1 - get_bit({column}, %(bit)s))"
        f" WHERE namespace_id = %(ns)s AND position = %(at)s AND {column} IS NOT NULL",
        {"bit": dice.randrange(8 * len('{"text":""}')), "at": position, "ns": namespace_id(namespace)},
    )
    assert changed.rowcount == 1
