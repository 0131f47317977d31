"""The indexes of many namespaces are caught up together, in few statements, and equal a replay (style §4)."""

import asyncio
import logging
import random
from collections.abc import Mapping
from uuid import UUID

import psycopg
import pytest

from ledger.application.namespace_reads import live_sessions
from ledger.application.services import Services
from ledger.errors import LogCorrupted
from ledger.events.ids import namespace_id
from ledger.indexes.stored_projections import builds, many_namespaces
from ledger.indexes.stored_projections.session_indexes import SessionIndexes
from ledger.ports import Store
from ledger.ports.projection_store import Place
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from ledger.worker import Worker
from tests.support.counting_store import CountingStore
from tests.support.ledgers import ledger_over

FEW, MANY = 5, 40


async def talk(store: Store, names: list[str]) -> None:
    services = Services(store)
    for name in names:
        await ledger_over(store, namespace=name).add_user_message("s", f"hello {name}", entry_id="first")
    await services.close()


def named(namespace: str, number: int) -> list[str]:
    return [f"{namespace}-{number}-{each}" for each in range(number)]


async def listing(store: Store, names: list[str]) -> list[str]:
    """Return the calls that a list of all sessions makes after each namespace got one write."""
    counting = CountingStore(store)
    services = Services(counting)
    total, _ = await live_sessions(services, names, user_id=None, limit=10)
    assert total == len(names)
    await services.close()
    return sorted(counting.calls)


async def test_a_list_over_many_new_namespaces_costs_what_one_over_few_costs(store: Store, namespace: str) -> None:
    costs = []
    for number in (FEW, MANY):
        names = named(namespace, number)
        for _ in ("new namespaces", "one more write each"):
            await talk(store, names)
            costs.append(await listing(store, names))
    assert costs[0] == costs[2]
    assert costs[1] == costs[3]
    assert "advance" not in costs[0]


async def test_catching_up_each_namespace_by_itself_is_noticed(namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control."""

    async def nothing(self: SessionIndexes, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        return {}

    monkeypatch.setattr(SessionIndexes, "advance_all", nothing)
    store, costs = InMemoryStore(), []
    for number in (FEW, MANY):
        await talk(store, named(namespace, number))
        costs.append(await listing(store, named(namespace, number)))
    assert len(costs[1]) > 4 * len(costs[0])


@pytest.mark.full
async def test_a_search_of_memory_in_many_namespaces_costs_what_one_in_few_costs(store: Store, namespace: str) -> None:
    costs = []
    for number in (FEW, MANY):
        names = named(namespace, number)
        writer = Services(store)
        for name in names:
            memory = writer.long_term.over([name], default_namespace=name)
            await memory.create([{"id": "r", "text": "somebody likes tea", "user_id": "u"}])
        await talk(store, names)
        for _ in ("new records", "one write to a session of each"):
            counting = CountingStore(store)
            services = Services(counting)
            page = await services.long_term.over(names).search({"text": "tea"})
            assert page.total == number
            costs.append(sorted(counting.calls))
            await talk(store, names)
        await writer.close()
    assert costs[0] == costs[2]
    assert costs[1] == costs[3]
    assert "save_all" not in costs[1], "writes to sessions change no record, so a search writes nothing"


@pytest.mark.postgres
async def test_the_number_of_statements_does_not_depend_on_the_number_of_namespaces(
    postgres_store: PostgresStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, sent = psycopg.AsyncCursor.execute, [0]

    async def counting(cursor: object, *values: object, **options: object) -> object:
        sent[0] += 1
        return await execute(cursor, *values, **options)  # type: ignore[arg-type]

    counts = []
    for turn, number in enumerate((FEW, FEW, MANY)):
        names = named(f"{namespace}-{turn}", number)
        await talk(postgres_store, names)
        services = Services(postgres_store)
        with monkeypatch.context() as patched:
            patched.setattr(psycopg.AsyncCursor, "execute", counting)
            sent[0] = 0
            await live_sessions(services, names, user_id=None, limit=10)
            counts.append(sent[0])
    assert counts[1] == counts[2] < 40, "the first turn opens connections, too"


async def test_what_is_caught_up_together_is_what_a_replay_gives(
    store: Store, namespace: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With sessions whose row needs their state, namespaces that are too long for a batch, and several batches."""
    monkeypatch.setattr(builds, "PAGE", 12)
    monkeypatch.setattr(many_namespaces, "_BATCH", 3)
    chance, names = random.Random(seed), named(namespace, 8)
    reader = Services(store)
    for _ in range(4):
        for name in chance.sample(names, 5):
            ledger = ledger_over(store, namespace=name)
            for number in range(chance.randint(1, 8)):
                session = f"s{chance.randint(0, 2)}"
                entry = await ledger.add_user_message(session, f"hello {number}")
                if chance.random() < 0.2:
                    await ledger.edit_entry(session, entry.entry_id, "bye")
                if chance.random() < 0.1:
                    await ledger.clear_session(session, end=True)
        total, rows = await live_sessions(reader, names, user_id=None, limit=100)
        replayed = []
        for name in names:
            anew = ledger_over(store, namespace=name)
            await anew.rebuild_projections("session_index")
            replayed += [row for row in await anew.list_sessions() if row.status == "live"]
        assert sorted(rows, key=lambda row: row.stream_id) == sorted(replayed, key=lambda row: row.stream_id)
        assert total == len(replayed)
    await reader.close()


async def test_readers_of_one_process_share_the_catch_up_of_each_namespace(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = named(namespace, FEW)
    await talk(store, names)
    services, folded = Services(store), []
    advance_all = SessionIndexes.advance_all

    async def slow(self: SessionIndexes, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        folded.extend(places)
        await asyncio.sleep(0.2)  # so all readers are there
        return await advance_all(self, places)

    monkeypatch.setattr(SessionIndexes, "advance_all", slow)
    some = [names, names[:3], names[2:], names]
    found = await asyncio.gather(*(live_sessions(services, each, user_id=None, limit=9) for each in some))
    assert [total for total, _ in found] == [len(each) for each in some]
    assert sorted(folded) == sorted(map(namespace_id, names))
    await services.close()


async def test_a_hole_in_one_log_is_found_and_named(namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    store = InMemoryStore()
    names = named(namespace, 3)
    await talk(store, names)
    del store.projections._namespaces[namespace_id(names[1])].log[0]  # type: ignore[attr-defined]
    services = Services(store)
    with caplog.at_level(logging.WARNING, "ledger"), pytest.raises(LogCorrupted, match="position 1 is missing"):
        await live_sessions(services, names, user_id=None, limit=9)
    assert (await live_sessions(services, [names[0], names[2]], user_id=None, limit=9))[0] == 2
    await services.close()


async def test_a_worker_lists_the_sessions_of_many_namespaces_together(namespace: str) -> None:
    store, names = InMemoryStore(), named(namespace, MANY)
    await talk(store, names)
    counting = CountingStore(store)
    services = Services(counting)
    await Worker(services, namespaces=names).run_once()
    assert counting.calls.count("read_namespaces") == 1
    counting.reset()
    assert (await live_sessions(services, names, user_id=None, limit=9))[0] == MANY
    assert "read_namespaces" not in counting.calls
    await services.close()
