"""A ledger opened without a block: used, closed, closed again, and never closed."""

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from ledger.errors import InvalidInput, Unavailable
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from ledger.sync import SyncMemoryLedger
from tests.support.databases import Server


@pytest.fixture
def login(server: Server, shared_database: str) -> Iterator[str]:
    with server.login("ledger_app") as name:
        yield name


def connections(url: str, login: str) -> int:
    with psycopg.connect(url) as admin:
        (count,) = admin.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = %s", (login,)).fetchone() or (
            0,
        )
    return int(count)


def without_connections(url: str, login: str) -> bool:
    """Wait until a login has no connection; a backend ends a moment after its client."""
    until = time.monotonic() + 10
    while connections(url, login) and time.monotonic() < until:
        time.sleep(0.01)
    return connections(url, login) == 0


def of_ledgers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "memory-ledger"}


def ended(threads: set[threading.Thread]) -> bool:
    """Wait until *threads* have ended; that of a lost ledger ends a moment after its connections."""
    for thread in threads:
        thread.join(10)
    return not any(thread.is_alive() for thread in threads)


async def test_a_ledger_is_used_and_closed_without_a_block(namespace: str) -> None:
    ledger = await MemoryLedger.connect(namespace=namespace, store=InMemoryStore())
    await ledger.add_user_message("s", "hello")
    assert len(await ledger.get_active_entries("s")) == 1
    for _ in range(2):
        await ledger.close()
    with pytest.raises(Unavailable, match="closed"):
        await ledger.get_stats("s")


def test_the_same_without_await(namespace: str) -> None:
    before = of_ledgers()
    ledger = SyncMemoryLedger.connect(namespace=namespace, store=InMemoryStore())
    ledger.add_user_message("s", "hello")
    assert len(ledger.get_active_entries("s")) == 1
    own = of_ledgers() - before
    assert len(own) == 1
    for _ in range(2):
        ledger.close()
    assert not own & of_ledgers()
    with pytest.raises(Unavailable, match="closed"):
        ledger.get_stats("s")


def test_closing_inside_a_block_closes_once(namespace: str) -> None:
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        ledger.close()
        with pytest.raises(Unavailable, match="closed"):
            ledger.get_stats("s")


@pytest.mark.postgres
async def test_closing_returns_the_connections(
    server: Server, shared_database: str, login: str, namespace: str
) -> None:
    url = server.url_of(login, shared_database)
    asynchronous, blocking = await MemoryLedger.connect(url, namespace), SyncMemoryLedger.connect(url, namespace)
    await asynchronous.add_user_message("s", "hello")
    assert len(blocking.get_active_entries("s")) == 1
    assert connections(server.url, login) >= 2
    await asynchronous.close()
    blocking.close()
    assert without_connections(server.url, login)


async def test_what_cannot_be_opened_leaves_nothing_behind() -> None:
    before = of_ledgers()
    with pytest.raises(InvalidInput):
        await MemoryLedger.connect(namespace="a/b", store=InMemoryStore())
    with pytest.raises(InvalidInput):
        SyncMemoryLedger.connect(namespace="a/b", store=InMemoryStore())
    gc.collect()
    assert of_ledgers() <= before


@pytest.mark.postgres
async def test_a_handle_that_nobody_closed_warns_and_is_closed(
    server: Server, shared_database: str, login: str, namespace: str
) -> None:
    url = server.url_of(login, shared_database)
    ledger = await MemoryLedger.connect(url, namespace)
    await ledger.add_user_message("s", "hello")
    with pytest.warns(ResourceWarning, match="ledger was not closed"):
        del ledger
    async with asyncio.timeout(10):
        while connections(server.url, login):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)


@pytest.mark.postgres
def test_it_is_closed_when_its_event_loop_ends(
    server: Server, shared_database: str, login: str, namespace: str
) -> None:
    ledger = asyncio.run(MemoryLedger.connect(server.url_of(login, shared_database), namespace))
    assert without_connections(server.url, login)
    with pytest.warns(ResourceWarning, match="ledger was not closed"):
        del ledger


@pytest.mark.postgres
def test_so_does_one_without_await(server: Server, shared_database: str, login: str, namespace: str) -> None:
    before = of_ledgers()
    ledger = SyncMemoryLedger.connect(server.url_of(login, shared_database), namespace)
    memory = ledger.long_term
    ledger.add_user_message("s", "hello")
    del ledger
    gc.collect()
    own = of_ledgers() - before
    assert len(own) == 1, "its long-term memory is in use"
    with pytest.warns(ResourceWarning, match="ledger was not closed"):
        del memory
    assert without_connections(server.url, login)
    assert ended(own)


def test_an_export_keeps_its_ledger_open(namespace: str) -> None:
    store = InMemoryStore()
    with SyncMemoryLedger.open(namespace=namespace, store=store) as ledger:
        ledger.add_user_message("s", "hello")
    lines = SyncMemoryLedger.connect(namespace=namespace, store=store).export_file("s")
    gc.collect()
    with pytest.warns(ResourceWarning, match="ledger was not closed"):  # after the last line
        assert len(list(lines)) == 4


AT_EXIT = """
import asyncio
from ledger import InMemoryStore, MemoryLedger, SyncMemoryLedger

blocking = SyncMemoryLedger.connect(namespace="exit", store=InMemoryStore())
blocking.add_user_message("s", "hello")

async def main():
    global ledger
    ledger = await MemoryLedger.connect(namespace="exit", store=InMemoryStore())
    await ledger.add_user_message("s", "hello")

asyncio.run(main())
print("end")
"""


@pytest.mark.sample(2)
@pytest.mark.processes
@pytest.mark.parametrize(("flags", "warnings"), [([], 0), (["-W", "always::ResourceWarning"], 2)])
def test_at_the_end_of_the_program_too(flags: list[str], warnings: int) -> None:
    ended = subprocess.run(
        [sys.executable, *flags, "-c", AT_EXIT], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "end\n")
    assert ended.stderr.count("ResourceWarning: a ledger was not closed") == warnings
    assert warnings or not ended.stderr


async def test_a_handler_cannot_close_the_ledger(namespace: str) -> None:
    refused: list[str] = []

    async def close(session: str, entry: object) -> None:
        with pytest.raises(InvalidInput) as refusal:
            await ledger.close()
        refused.append(refusal.value.code)

    ledger = await MemoryLedger.connect(namespace=namespace, store=InMemoryStore())
    ledger.on("entry:added", close)
    await ledger.add_user_message("s", "hello")
    await ledger.close()
    assert refused == ["in_handler"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_nor_can_it_without_await(namespace: str, asynchronous: bool) -> None:
    refused: list[str] = []

    def close(session: str, entry: object) -> None:
        with pytest.raises(InvalidInput) as refusal:
            ledger.close()
        refused.append(refusal.value.code)

    async def close_on_the_loop(session: str, entry: object) -> None:
        close(session, entry)

    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        ledger.on("entry:added", close_on_the_loop if asynchronous else close)
        ledger.add_user_message("s", "hello")
    assert refused == ["in_handler"]


@pytest.mark.parametrize("cls", [MemoryLedger, SyncMemoryLedger])
async def test_dir_lists_every_public_name(cls: type, namespace: str, store: Store) -> None:
    expected = {"add_entries", "close", "compress", "connect", "get_context", "long_term", "open", "search", "what_if"}
    if cls is MemoryLedger:
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            assert expected <= {*dir(ledger)}
    else:
        with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as blocking:
            assert expected <= {*dir(blocking)}
