"""The workloads by name, in the order in which they run, and a run of some of them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Final, TypeAlias

import msgspec

from bench import appending, bulk, cold, disk, reading, replaying, searching, serving, writers
from bench.cpu import waited_share
from bench.rows import Figures
from bench.setting import Setting

Workload: TypeAlias = Callable[[Setting], Awaitable[Figures]]

WORKLOADS: Final[Mapping[str, Workload]] = {
    "append": appending.one_client,
    "growing": appending.as_sessions_grow,
    "overhead": appending.library_overhead,
    "first-append": cold.first_append,
    "first-window": cold.first_window,
    "window": reading.window,
    "writers": writers.many,
    "few-writers": writers.few,
    "writers-cpu": writers.cpu_per_event,
    "bulk": bulk.bulk,
    "state-at": reading.state_at,
    "replay": replaying.replay,
    "disk": disk.disk,
    "listing": reading.listing,
    "what-if": replaying.what_if,
    "rebuild": replaying.rebuild,
    "import": bulk.importing,
    "verify": replaying.verifying,
    "http": serving.clients,
    "http-growing": serving.long_sessions,
    "search": searching.search,
}

_MOST_S: Final = 300.0


class Outcome(msgspec.Struct):
    """What a run found: figures by key of a row; by workload, its fault and how long it took."""

    figures: Figures = msgspec.field(default_factory=dict)
    faults: dict[str, str] = msgspec.field(default_factory=dict)
    seconds: dict[str, float] = msgspec.field(default_factory=dict)
    #: Before each workload: which part of the time this process waited for a processor.
    waited: list[float] = msgspec.field(default_factory=list)


def run(
    workloads: Mapping[str, Workload],
    setting_for: Callable[[str], AbstractContextManager[Setting]],
    *,
    starting: Callable[[str], None],
    most_s: float = _MOST_S,
) -> Outcome:
    """Run the workloads one after the other; one that fails, or does not end, does not stop the others."""
    outcome = Outcome()
    for name, workload in workloads.items():
        starting(name)
        outcome.waited.append(waited_share())
        started = time.perf_counter()
        try:
            with setting_for(name) as setting:
                outcome.figures |= asyncio.run(_within(workload(setting), most_s))
        except TimeoutError:
            outcome.faults[name] = f"did not end within {most_s:g} s"
        except Exception as fault:  # noqa: BLE001 - a benchmark may meet anything, and reports it
            outcome.faults[name] = f"{type(fault).__name__}: {fault}"
        outcome.seconds[name] = time.perf_counter() - started
    return outcome


async def _within(figures: Awaitable[Figures], most_s: float) -> Figures:
    async with asyncio.timeout(most_s):
        return await figures
