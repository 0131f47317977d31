"""Run the workloads on a temporary embedded PostgreSQL and write docs/benchmarks.md.

``python -m bench NAME …`` runs only these workloads and does not write the file.
"""

import asyncio
import platform
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import appending, reading, searching, serving
from bench.measure import Result
from bench.setting import Setting
from ledger.stores.embedded import EmbeddedServer
from ledger.stores.factory import prepare

_REPORT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_WORKLOADS: dict[str, Callable[[Setting], Awaitable[list[Result]]]] = {
    "one-client": appending.one_client,
    "many-clients": appending.many_clients,
    "bulk": appending.bulk,
    "growing": appending.as_sessions_grow,
    "overhead": appending.library_overhead,
    "window": reading.window,
    "state-at": reading.state_at,
    "replay": reading.replay,
    "what-if": reading.what_if,
    "disk": reading.disk,
    "search": searching.search,
    "http-growing": serving.long_sessions,
    "http-clients": serving.http_clients,
}
_INTRODUCTION = """# Benchmarks

Each line compares Memory Ledger with plain psycopg on a single table, on the same server, in the same run, in turns.
The figure is ours divided by the peer's, as the median over the rounds. The peer does the least that is durable:
no chain, no idempotency, no expected version, no row security, no projections. Over HTTP, clients and service share
one process, as the library's callers do.

`make bench` writes this file. It has ratios only, because times differ between machines.
"""


async def _measure(names: list[str]) -> list[Result]:
    results: list[Result] = []
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="memory-ledger-bench-") as folder:
        server = EmbeddedServer(folder)
        prepare(server)
        try:
            for name in names:
                with console.status(f"{name}: {(_WORKLOADS[name].__doc__ or '').splitlines()[0]}"):
                    results += await _WORKLOADS[name](Setting(server.url))
            version = server.status().postgres_version
        finally:
            server.stop()
    console.print(f"PostgreSQL {version}, Python {platform.python_version()}")
    return results


def _line(result: Result) -> tuple[str, str, str, str, str]:
    verdict = "" if result.met is None else "met" if result.met else "missed"
    return result.workload, result.note, f"{result.ratio:.2f}", result.goal, verdict


def _markdown(results: list[Result]) -> str:
    head = ("workload", "what", "ratio", "goal", "")
    rows = [head, ("---", "---", "---:", "---:", "---"), *map(_line, results)]
    return f"{_INTRODUCTION}\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main() -> None:
    """Run the workloads that are named, or all."""
    names = sys.argv[1:] or list(_WORKLOADS)
    if unknown := set(names) - set(_WORKLOADS):
        sys.exit(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(_WORKLOADS)}")
    results = asyncio.run(_measure(names))
    table = Table("workload", "what", "ratio", "goal", "")
    for result in results:
        table.add_row(*_line(result))
    Console().print(table)
    if not sys.argv[1:]:
        _REPORT.write_text(_markdown(results))


if __name__ == "__main__":
    main()
