"""Workloads that write many entries at once."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from bench import new_process
from bench.filling import fill
from bench.measure import Work, latencies, ratio
from bench.new_process import Job
from bench.rows import Figures
from bench.setting import Setting, fresh_namespace, ledger_over, plain_rows, request
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger

_ENTRIES = 1_000


async def bulk(setting: Setting) -> Figures:
    """A batch of 1,000 prepared entries in one transaction, against COPY of as many prepared rows."""
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        ledger = ledger_over(store, namespace)

        def stored() -> Awaitable[object]:
            events = [setting.new_event() for _ in range(_ENTRIES)]
            return store.events.append(request(Stream.of(namespace, fresh_namespace()), events))

        contenders: dict[str, Work] = {
            "store": stored,
            "library": lambda: ledger.add_entries(fresh_namespace(), setting.drafts(_ENTRIES)),
            "copy": lambda: plain.copy(plain_rows(setting, fresh_namespace(), _ENTRIES)),
        }
        taken = await latencies(contenders, rounds=setting.times(7), each=3)
        await ledger.close()
    return {"bulk": {name: ratio(taken, name, "copy") for name in ("store", "library")}}


async def importing(setting: Setting) -> Figures:
    """An export file of one session, imported by a new process, against adding as many entries in batches of 1,000.

    The memory of the process is its peak, against that of a process that imports a tenth.
    """
    many = setting.size(100_000)
    throughput, memory = [], []
    with tempfile.TemporaryDirectory(prefix="memory-ledger-bench-") as folder:
        long, short = Path(folder, "long.jsonl"), Path(folder, "short.jsonl")
        async with setting.store() as store:
            source = ledger_over(store, fresh_namespace())
            await fill(setting, source, "short", many // 10)
            await _export(source, "short", short)
            await fill(setting, source, "long", many)
            await _export(source, "long", long)
            await source.close()
            for _ in range(setting.times(3)):
                bulk_s = await _fill_anew(setting, ledger_over(store, fresh_namespace()), many)
                of_long, of_short = [await new_process.run(_job(setting, file)) for file in (long, short)]
                throughput.append(bulk_s / of_long["seconds"]["import"])
                memory.append(of_long["peak"]["import"] / of_short["peak"]["import"])
    return {"import": {"throughput": statistics.median(throughput), "peak memory": statistics.median(memory)}}


async def _export(ledger: MemoryLedger, session: str, file: Path) -> None:
    with file.open("wb") as output:
        async for line in ledger.export_file(session):
            await asyncio.to_thread(output.write, line)


async def _fill_anew(setting: Setting, ledger: MemoryLedger, entries: int) -> float:
    started = time.perf_counter()
    await fill(setting, ledger, "imported", entries)
    taken = time.perf_counter() - started
    await ledger.close()
    return taken


def _job(setting: Setting, file: Path) -> Job:
    return Job(does="import", url=setting.url, app_url=setting.app_url, namespace=fresh_namespace(), file=str(file))
