"""Many writers in one process: with group commit, with one commit for each append, and by plain psycopg."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from bench.cpu import ClientAndServerCpu
from bench.measure import Work, cpu_seconds, latencies, ratio
from bench.plain import PlainTable
from bench.rows import Figures
from bench.setting import Setting, fresh_namespace, ledger_over, plain_rows, plain_session, request
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store
from ledger.session.entry_drafts import EntryDraft

_WRITERS = 256
_FEW = 8
#: Appends of each writer: few where each has a commit of its own, so that a round takes about as long.
_GROUPED, _ALONE, _PLAIN = 20, 2, 10


async def many(setting: Setting) -> Figures:
    """256 writers, each on its own session, against our one-commit mode and plain psycopg on 16 connections."""
    writers = setting.size(_WRITERS)
    async with AsyncExitStack() as opened:
        grouped = await opened.enter_async_context(setting.store())
        alone = await opened.enter_async_context(setting.store(group_commit=False))
        plain = await opened.enter_async_context(setting.plain())
        contenders = {
            "store": by_store(setting, grouped, writers, _GROUPED),
            "library": by_library(setting, grouped, writers, _GROUPED),
            "store alone": by_store(setting, alone, writers, _ALONE),
            "library alone": by_library(setting, alone, writers, _ALONE),
            "plain": by_plain(setting, plain, writers, _PLAIN),
        }
        taken = await latencies(contenders, rounds=setting.times(5), each=1)
    return {
        "writers": {name: ratio(taken, f"{name} alone", name) * _GROUPED / _ALONE for name in ("store", "library")},
        "writers plain": {name: ratio(taken, "plain", name) * _GROUPED / _PLAIN for name in ("store", "library")},
    }


async def few(setting: Setting) -> Figures:
    """8 writers, each on its own session, against plain psycopg on 16 connections."""
    each = setting.times(50)
    async with setting.store() as store, setting.plain() as plain:
        contenders = {
            "store": by_store(setting, store, _FEW, each),
            "library": by_library(setting, store, _FEW, each),
            "plain": by_plain(setting, plain, _FEW, each),
        }
        taken = await latencies(contenders, rounds=setting.times(7), each=1)
    return {"few writers": {name: ratio(taken, "plain", name) for name in ("store", "library")}}


async def cpu_per_event(setting: Setting) -> Figures:
    """The CPU of 256 writers with group commit, against executemany and COPY of the same rows in one transaction."""
    each, writers = setting.times(10), setting.size(_WRITERS)
    async with setting.store() as store, setting.plain() as plain:
        events = writers * each
        contenders: dict[str, Work] = {
            "store": by_store(setting, store, writers, each),
            "bulk": lambda: plain.insert_many(plain_rows(setting, fresh_namespace(), events)),
            "copy": lambda: plain.copy(plain_rows(setting, fresh_namespace(), events)),
        }
        with ClientAndServerCpu.open(setting.url) as meter:
            spent = await cpu_seconds(contenders, meter, rounds=setting.times(5), each=setting.times(3))
    return {
        "writers cpu": {"ratio": ratio(spent, "store", "bulk")},
        "writers copy": {"ratio": ratio(spent, "store", "copy")},
    }


def by_store(setting: Setting, store: Store, writers: int, each: int) -> Work:
    """Return the work of *writers* that append *each* prepared events to the store, one after the other."""
    namespace = fresh_namespace()
    streams = [Stream.of(namespace, f"writer-{number}") for number in range(writers)]

    async def write(requests: Sequence[AppendRequest]) -> None:
        for one in requests:
            await store.events.append(one)

    return lambda: _all(write, [[request(stream, [setting.new_event()]) for _ in range(each)] for stream in streams])


def by_library(setting: Setting, store: Store, writers: int, each: int) -> Work:
    """Return the work of *writers* that add *each* entries through the library."""
    ledger: MemoryLedger = ledger_over(store, fresh_namespace())

    async def write(own: tuple[int, list[EntryDraft]]) -> None:
        number, drafts = own
        for draft in drafts:
            await ledger.add_entries(f"writer-{number}", [draft])

    return lambda: _all(write, [(number, setting.drafts(each)) for number in range(writers)])


def by_plain(setting: Setting, plain: PlainTable, writers: int, each: int) -> Work:
    """Return the work of *writers* that insert *each* rows, one commit for each."""
    names = [plain_session(f"{fresh_namespace()}-{number}") for number in range(writers)]
    written = 0

    async def write(own: tuple[int, int, list[bytes]]) -> None:
        number, first, rows = own
        for seq, row in enumerate(rows, start=first):
            await plain.insert(names[number], seq, row)

    def work() -> Awaitable[object]:
        nonlocal written
        written += each
        return _all(write, [(number, written, [setting.row() for _ in range(each)]) for number in range(writers)])

    return work


async def _all(write: Callable[..., Awaitable[None]], shares: Sequence[object]) -> None:
    await asyncio.gather(*(write(share) for share in shares))
