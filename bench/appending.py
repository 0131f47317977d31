"""One client that appends: against plain psycopg of the same kind, at several lengths, and without a database."""

import itertools
import secrets
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import ExitStack, asynccontextmanager

from bench.cpu import ClientAndServerCpu, ProcessCpu, pure_python
from bench.filling import fill
from bench.measure import Work, cpu_seconds, latencies, ratio
from bench.plain import BlockingTable
from bench.rows import Figures
from bench.setting import FULL, Setting, fresh_namespace, ledger_over, plain_session, request
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.sync import SyncMemoryLedger

#: Part of the row → contender, and the peer of the same kind.
_PEERS = {
    "store": ("store", "plain"),
    "library": ("library", "plain"),
    "own ids": ("own ids", "plain"),
    "sync facade": ("sync facade", "sync plain"),
}


async def one_client(setting: Setting) -> Figures:
    """One client that appends one entry at a time to an existing session."""
    async with _contenders(setting) as contenders:
        taken = await latencies(contenders, rounds=setting.times(5) + 1, each=setting.times(200))
        with ClientAndServerCpu.open(setting.url) as meter:
            spent = await cpu_seconds(contenders, meter, rounds=setting.times(5) + 1, each=setting.times(200))
    return {
        "append": {part: ratio(taken, ours, peer) for part, (ours, peer) in _PEERS.items()},
        "append cpu": {part: ratio(spent, ours, peer) for part, (ours, peer) in _PEERS.items()},
    }


@asynccontextmanager
async def _contenders(setting: Setting) -> AsyncIterator[dict[str, Work]]:
    namespace = fresh_namespace()
    stream = Stream.of(namespace, "store")
    places, session = itertools.count(), plain_session("one")
    async with setting.store() as store, setting.plain() as plain:
        ledger = ledger_over(store, namespace)
        with ExitStack() as opened:  # the facade has an event loop of its own: nothing else runs while it is asked
            facade = opened.enter_context(SyncMemoryLedger.open(setting.app_url, namespace, config=FULL))
            blocking = opened.enter_context(BlockingTable.open(setting.url))

            async def facade_call(draft: object) -> None:
                facade.add_entries("sync facade", [draft])  # type: ignore[list-item]  # a draft, as below

            async def blocking_call(seq: int, row: bytes) -> None:
                blocking.insert(session, seq, row)

            def own_ids() -> Awaitable[object]:
                return ledger.add_entries("own ids", [setting.draft(secrets.token_hex(13))])

            yield {
                "plain": lambda: plain.insert(session, next(places), setting.row()),
                "store": lambda: store.events.append(request(stream, [setting.new_event()])),
                "library": lambda: ledger.add_entries("library", [setting.draft()]),
                "own ids": own_ids,
                "sync plain": lambda: blocking_call(next(places), setting.row()),
                "sync facade": lambda: facade_call(setting.draft()),
            }
        await ledger.close()


async def as_sessions_grow(setting: Setting) -> Figures:
    """Appending to sessions of 10, 1,000, 10,000 and 100,000 entries that this process knows."""
    lengths = {"1,000": 1_000, "10,000": 10_000, "100,000": 100_000}
    short = [f"short-{number}" for number in range(50)]  # many, so that each stays short
    async with setting.store() as store:
        ledger = ledger_over(store, fresh_namespace())
        for name, length in lengths.items():
            await fill(setting, ledger, name, setting.size(length))
        for name in short:
            await fill(setting, ledger, name, 10)
        turns = itertools.cycle(short)
        contenders = {name: _append_to(setting, ledger, itertools.repeat(name)) for name in lengths}
        contenders["10"] = _append_to(setting, ledger, turns)
        taken = await latencies(contenders, rounds=setting.times(7), each=setting.times(40))
        await ledger.close()
    return {
        "long": {"ratio": ratio(taken, "100,000", "10")},
        "growing": {name: ratio(taken, name, "10") for name in ("1,000", "10,000")},
    }


def _append_to(setting: Setting, ledger: MemoryLedger, sessions: Iterator[str]) -> Work:
    return lambda: ledger.add_entries(next(sessions), [setting.draft()])


async def library_overhead(setting: Setting) -> Figures:
    """The CPU time of an append to a ledger in memory, against a fixed piece of pure Python of the same moment."""
    ledger = ledger_over(InMemoryStore(), "cpu")
    await fill(setting, ledger, "one", 100)

    async def yardstick() -> None:
        pure_python()

    contenders: dict[str, Work] = {
        "library": lambda: ledger.add_entries("one", [setting.draft()]),
        "yardstick": yardstick,
    }
    spent = await cpu_seconds(contenders, ProcessCpu(), rounds=setting.times(9), each=setting.times(500))
    return {"overhead": {"ratio": ratio(spent, "library", "yardstick")}}
