"""What a new process does; the workloads start it, and it prints its figures as JSON.

It first uses a short session, so that modules are loaded and statements are prepared. What is measured is what it
then costs to use another session for the first time.
"""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import psutil

from bench.plain import PlainTable
from bench.setting import BOUNDED, SHOWN, Setting, ledger_over, plain_session
from ledger.memory import MemoryLedger

WARM: Final = "warm"
_MB: Final = 1_000_000


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to do in *sessions*, one after the other: ``append``, ``window``, or ``import`` a file.

    A window shows the newest *shown* entries, or all.
    """

    does: str
    url: str
    app_url: str
    namespace: str
    sessions: tuple[str, ...] = ()
    shown: int | None = SHOWN
    file: str = ""


async def run(job: Job) -> dict[str, dict[str, float]]:
    """Start a process for *job* and return its figures: by kind, of each session."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.new_process",
        msgspec.json.encode(job).decode(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"a new process failed: {errors.decode(errors='replace').strip().splitlines()[-1]}")
    return msgspec.json.decode(output, type=dict[str, dict[str, float]])


@asynccontextmanager
async def _opened(job: Job) -> AsyncIterator[tuple[MemoryLedger, PlainTable]]:
    setting = Setting(job.url, job.app_url)
    async with setting.store() as store, setting.plain(connections=1) as plain:
        ledger = ledger_over(store, job.namespace, BOUNDED)
        await ledger.add_entries(WARM, setting.drafts(1))
        await ledger.add_entries(WARM, setting.drafts(1))
        await ledger.get_context_for_llm(WARM)
        await plain.select(plain_session(job.namespace + WARM), newest=job.shown)
        yield ledger, plain
        await ledger.close()


async def _append(job: Job) -> dict[str, dict[str, float]]:
    setting = Setting(job.url, job.app_url)
    append: dict[str, float] = {}
    memory: dict[str, float] = {}
    async with _opened(job) as (ledger, _):
        for session in job.sessions:
            before = _resident()
            append[session] = await _timed(ledger.add_entries(session, setting.drafts(1)))
            await ledger.get_context_for_llm(session)
            memory[session] = (_resident() - before) / _MB
    return {"append": append, "memory": memory}


async def _window(job: Job) -> dict[str, dict[str, float]]:
    window: dict[str, float] = {}
    select: dict[str, float] = {}
    async with _opened(job) as (ledger, plain):
        for session in job.sessions:
            select[session] = await _timed(plain.select(plain_session(job.namespace + session), newest=job.shown))
            window[session] = await _timed(ledger.get_context_for_llm(session))
    return {"window": window, "select": select}


async def _import(job: Job) -> dict[str, dict[str, float]]:
    def lines() -> Iterator[bytes]:
        with Path(job.file).open("rb") as file:
            yield from file

    async with _opened(job) as (ledger, _):
        seconds = await _timed(ledger.import_file(lines))
    return {"seconds": {"import": seconds}, "peak": {"import": peak_mb()}}


def peak_mb() -> float:
    """Return the most memory that this process ever had, in MB.

    Not ``ru_maxrss``, which on Linux begins with the memory of the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1_024 / _MB


async def _timed(call: Awaitable[Any]) -> float:
    started = time.perf_counter()
    await call
    return time.perf_counter() - started


def _resident() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


_JOBS: Final = {"append": _append, "window": _window, "import": _import}


def main() -> None:
    """Do the job on the command line and print its figures."""
    job = msgspec.json.decode(sys.argv[1], type=Job)
    print(msgspec.json.encode(asyncio.run(_JOBS[job.does](job))).decode())


if __name__ == "__main__":
    main()
