"""Many writers of one session through the whole ledger: tasks, ledgers, processes. Source: trust P-4."""

import asyncio
import json
import sys
from collections import Counter

import pytest

from ledger.errors import DuplicateEntry, IdempotencyMismatch
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.databases import Server
from tests.support.whole_log import assert_whole

SESSION = "session-1"
WRITERS = 8
PROCESSES = 4
CONFIG = {"profile": "none", "tokenizer": "approximate"}


def texts(writer: int, count: int) -> list[str]:
    return [f"writer {writer} message {number}" for number in range(count)]


async def check_nothing_lost(store: Store, namespace: str, per_writer: int, writers: int = WRITERS) -> None:
    """Assert that the session holds every message of every writer once, each writer's in its order."""
    async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as ledger:
        entries = await ledger.get_active_entries(SESSION)
        contents = [entry.content for entry in entries]
        assert Counter(contents) == Counter(text for writer in range(writers) for text in texts(writer, per_writer))
        for writer in range(writers):
            assert [text for text in contents if text.startswith(f"writer {writer} ")] == texts(writer, per_writer)
        events = await ledger.get_events(SESSION)
        assert [event.payload.type for event in events].count("session.opened") == 1
    await assert_whole(store, namespace, [])


async def test_eight_tasks_on_one_session_lose_nothing(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as ledger:

        async def work(writer: int) -> None:
            for text in texts(writer, 25):
                await ledger.add_user_message(SESSION, text)

        await asyncio.gather(*(work(writer) for writer in range(WRITERS)))
    await check_nothing_lost(store, namespace, 25)


async def test_eight_ledgers_on_one_session_lose_nothing(store: Store, namespace: str) -> None:
    """Each has its own cache of states, as processes have."""

    async def work(writer: int) -> None:
        async with MemoryLedger.open(namespace=namespace, store=store, config=CONFIG) as ledger:
            for text in texts(writer, 15):
                await ledger.add_user_message(SESSION, text)

    await asyncio.gather(*(work(writer) for writer in range(WRITERS)))
    await check_nothing_lost(store, namespace, 15)


_PROCESS = """
import asyncio, json, sys
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore, Target

async def work(url, namespace, session, config, writer, count):
    store = await PostgresStore.open(Target(url, embedded=True))
    async with MemoryLedger.open(namespace=namespace, store=store, config=json.loads(config)) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            await ledger.add_user_message(session, f"writer {writer} message {number}")
    await store.close()

asyncio.run(work(*sys.argv[1:5], *map(int, sys.argv[5:])))
"""


@pytest.mark.full
@pytest.mark.postgres
async def test_four_processes_on_one_session_lose_nothing(
    server: Server, shared_database: str, postgres_store: Store, namespace: str
) -> None:
    url = server.database(shared_database)
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _PROCESS,
            *(url, namespace, SESSION, json.dumps(CONFIG), str(writer), "25"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for writer in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
    await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    assert [process.returncode for process in processes] == [0] * PROCESSES
    await check_nothing_lost(postgres_store, namespace, 25, PROCESSES)


async def test_an_entry_id_counts_once(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        first = await ledger.add_user_message(SESSION, "hello", entry_id="e-1")
        again = await ledger.add_user_message(SESSION, "hello", entry_id="e-1")
        assert (again.version, again.hash, again.known) == (first.version, first.hash, True)
        with pytest.raises(DuplicateEntry):
            await ledger.add_user_message(SESSION, "something else", entry_id="e-1")
        assert (await ledger.get_state(SESSION)).version == 2


async def test_an_entry_id_sent_by_eight_ledgers_at_once_counts_once(store: Store, namespace: str) -> None:
    async def work() -> str:
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            return (await ledger.add_user_message(SESSION, "hello", entry_id="e-1")).hash

    hashes = await asyncio.gather(*(work() for _ in range(WRITERS)))
    assert len(set(hashes)) == 1
    assert await store.events.find_items(Stream.of(namespace, SESSION), ["e-1"]) == {"e-1": [2]}


async def test_a_retry_through_the_ledger_answers_as_the_first_time(store: Store, namespace: str) -> None:
    """The first attempt opens the session, which the second need not do."""
    batch = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        first = await ledger.add_entries(SESSION, batch, idempotency_key="k")
        again = await ledger.add_entries(SESSION, batch, idempotency_key="k")
        assert again.entries == first.entries
        assert (first.replayed, again.replayed) == (False, True)
        with pytest.raises(IdempotencyMismatch):
            await ledger.add_entries(SESSION, batch[:1], idempotency_key="k")
        added_entry = await ledger.add_user_message(SESSION, "three", idempotency_key="k-2")
        assert await ledger.add_user_message(SESSION, "three", idempotency_key="k-2") == added_entry
        assert (await ledger.get_state(SESSION)).version == 4


async def test_a_retry_after_the_session_ended_begins_no_new_life(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        first = await ledger.add_user_message(SESSION, "hello", idempotency_key="k")
        await ledger.clear_session(SESSION, end=True)
        again = await ledger.add_user_message(SESSION, "hello", idempotency_key="k")
        assert again == first
        assert (await ledger.get_state(SESSION)).version == 3


async def test_fifty_identical_requests_of_five_ledgers_are_stored_once(store: Store, namespace: str) -> None:
    async def work() -> list[str]:
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            added = await asyncio.gather(
                *(ledger.add_user_message(SESSION, "hello", idempotency_key="k") for _ in range(10))
            )
            return [entry.hash for entry in added]

    answers = await asyncio.gather(*(work() for _ in range(5)))
    assert len({answer for each in answers for answer in each}) == 1
    assert len(await store.events.read_stream(Stream.of(namespace, SESSION))) == 2
