"""Workloads that write."""

import asyncio
import itertools
import statistics
import time
from collections.abc import Awaitable, Callable

from bench.measure import Result, at_least, at_most, interleaved, ratio
from bench.plain import PlainTable
from bench.setting import Setting, fill, fresh_namespace, ledger_over, plain_session, request
from ledger.ids import Stream
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore

_ROUNDS = 5
_CPU_GOAL_US = 150.0


async def one_client(setting: Setting) -> list[Result]:
    """One client that appends one entry at a time to an existing session."""
    async with setting.store() as store, setting.plain() as plain:
        ledger = ledger_over(store, fresh_namespace())
        stream = Stream.of(fresh_namespace(), "one")
        sequence, session = itertools.count(), plain_session("one")

        async def library() -> None:
            await ledger.add_entries("one", [setting.draft()])

        async def stored() -> None:
            await store.events.append(request(stream, [setting.new_event()]))

        async def peer() -> None:
            await plain.insert(session, next(sequence), setting.row())

        contenders = {"library": library, "store": stored, "plain": peer}
        medians = await interleaved(contenders, rounds=_ROUNDS, each=300)
        return [
            at_most("append, 1 client: latency", ratio(medians, "library", "plain"), 1.5, "add_entries"),
            at_most("append, 1 client: latency", ratio(medians, "store", "plain"), None, "the store alone"),
        ]


async def many_clients(setting: Setting) -> list[Result]:
    """Concurrent clients, each on its own session; the peer commits each event alone, on 16 connections."""
    results = []
    for clients, each, goal in ((8, 100, None), (256, 10, 5.0)):
        async with setting.store() as store, setting.plain() as plain:
            gains = [await _gains(setting, store, plain, clients, each, turn) for turn in range(_ROUNDS)]
        title = f"append, {clients} clients with group commit: throughput"
        results += [
            at_least(title, statistics.median(gain[0] for gain in gains), goal, "the store"),
            at_least(title, statistics.median(gain[1] for gain in gains), None, "add_entries"),
        ]
    return results


async def _gains(
    setting: Setting, store: PostgresStore, plain: PlainTable, clients: int, each: int, turn: int
) -> tuple[float, float]:
    """Return the throughput of the store and of the library, as multiples of the peer's."""
    ledger = ledger_over(store, "bench-many")
    streams = [Stream.of("bench-store", f"client-{client}") for client in range(clients)]
    events = [[setting.new_event() for _ in range(each)] for _ in streams]
    drafts = [[setting.draft() for _ in range(each)] for _ in streams]
    rows = [[setting.row() for _ in range(each)] for _ in streams]

    async def stored(client: int) -> None:
        for event in events[client]:
            await store.events.append(request(streams[client], [event]))

    async def library(client: int) -> None:
        for draft in drafts[client]:
            await ledger.add_entries(f"client-{client}", [draft])

    async def peer(client: int) -> None:
        for seq, row in enumerate(rows[client], start=turn * each):
            await plain.insert(plain_session(f"client-{client}"), seq, row)

    taken = await _all(peer, clients)
    return taken / await _all(stored, clients), taken / await _all(library, clients)


async def _all(work: Callable[[int], Awaitable[None]], clients: int) -> float:
    started = time.perf_counter()
    await asyncio.gather(*(work(client) for client in range(clients)))
    return time.perf_counter() - started


async def bulk(setting: Setting) -> list[Result]:
    """A batch of 1,000 entries in one transaction, against executemany in one."""
    async with setting.store() as store, setting.plain() as plain:
        ledger = ledger_over(store, fresh_namespace())
        namespace, number = fresh_namespace(), itertools.count()

        async def library() -> None:
            await ledger.add_entries(f"bulk-{next(number)}", [setting.draft() for _ in range(1_000)])

        async def stored() -> None:
            events = [setting.new_event() for _ in range(1_000)]
            await store.events.append(request(Stream.of(namespace, f"bulk-{next(number)}"), events))

        async def peer() -> None:
            rows = [setting.row() for _ in range(1_000)]
            await plain.insert_many(plain_session(f"bulk-{next(number)}"), 0, rows)

        contenders = {"library": library, "store": stored, "plain": peer}
        medians = await interleaved(contenders, rounds=_ROUNDS, each=3)
        return [
            at_most("bulk append of 1,000: time", ratio(medians, "library", "plain"), None, "add_entries"),
            at_most("bulk append of 1,000: time", ratio(medians, "store", "plain"), None, "the store alone"),
        ]


async def as_sessions_grow(setting: Setting) -> list[Result]:
    """Appending to sessions of 10, 1,000 and 10,000 entries."""
    async with setting.store() as store:
        ledger = ledger_over(store, fresh_namespace())
        for length in (10, 1_000, 10_000):
            await fill(setting, ledger, f"length-{length}", length)

        def appending(length: int) -> Callable[[], Awaitable[object]]:
            return lambda: ledger.add_entries(f"length-{length}", [setting.draft()])

        contenders = {str(length): appending(length) for length in (10, 1_000, 10_000)}
        # few, so that the session of 10 stays short
        medians = await interleaved(contenders, rounds=_ROUNDS, each=30)
        return [
            at_most("append at length 1,000 against 10: latency", ratio(medians, "1000", "10"), None),
            at_most("append at length 10,000 against 10: latency", ratio(medians, "10000", "10"), 1.2),
        ]


async def library_overhead(setting: Setting) -> list[Result]:
    """The CPU time of an append on the in-memory store: the only absolute figure."""
    ledger = ledger_over(InMemoryStore(), "cpu")
    await fill(setting, ledger, "one", 100)
    figures = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        for _ in range(1_000):
            await ledger.add_entries("one", [setting.draft()])
        figures.append((time.process_time() - started) * 1_000)
    value = statistics.median(figures)
    return [at_most("append without a database: CPU, as a share of 150 µs", value / _CPU_GOAL_US, 1.0)]
