"""Measure the adapters beside the store of each SDK, on the same server in the same run, into docs/benchmarks.md.

``--quick`` measures little and does not write. Source: adapters AD-16, OA-9, LG-12, LG-13, CL-9, PY-2.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any, Final, NamedTuple, TypeAlias

from rich.console import Console
from rich.table import Table

from bench import page
from bench.databases import Databases
from bench.measure import Median
from bench.peers import agent_runs, claude_lines, graph_threads, runner_sessions

_HEAD: Final = ("adapter and work", "ratio", "rounds", "goal")


class Urls(NamedTuple):
    """Databases of one server: ours, with the login of an application, and that of the other store."""

    ours: str
    ours_as_owner: str
    other: str


#: Measures one adapter; returns each work's ratio of our time, or size, to the other's, and the goal.
Measured: TypeAlias = dict[str, tuple[float, float | None]]
Measure: TypeAlias = Callable[[Urls, bool], Coroutine[Any, Any, Measured]]

_ADAPTERS: Final[dict[str, Measure]] = {
    "OpenAI Agents to `SQLAlchemySession`": runner_sessions.measure,
    "LangGraph to `AsyncPostgresSaver`": graph_threads.measure,
    "Claude Agent SDK to its example for PostgreSQL": claude_lines.measure,
    "Pydantic AI to its messages in one row": agent_runs.measure,
}


def main() -> None:
    """Measure the adapters that *--only* names, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers.adapters", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="measure little, to try it out; figures mean nothing")
    parser.add_argument("--only", default="", help="adapters whose name begins so; then nothing is written")
    chosen = parser.parse_args()
    rows: list[tuple[str, str, str, str]] = []
    with Databases.temporary() as databases, ExitStack() as made:
        for number, (name, measure) in enumerate(_ADAPTERS.items()):
            if not name.lower().startswith(chosen.only.lower()):
                continue
            owner, application = made.enter_context(databases.fresh(f"adapter_{number}"))
            other, _ = made.enter_context(databases.fresh(f"store_{number}"))
            found = asyncio.run(measure(Urls(application, owner, other), chosen.quick))
            rows += [
                (f"{name}: {work}", f"{ratio:,.2f}", _rounds(ratio), _goal(goal))
                for work, (ratio, goal) in found.items()
            ]
    table = Table(*_HEAD)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    if not (chosen.quick or chosen.only):
        lines = [_HEAD, ("---", "---:", "---:", "---:"), *rows]
        page.write({"adapters": "".join(f"| {' | '.join(line)} |\n" for line in lines)})
    sys.exit(0)


def _rounds(figure: float) -> str:
    """Return the smallest and the largest figure of a round, where there were several."""
    return f"{figure.low:,.2f} to {figure.high:,.2f}" if isinstance(figure, Median) else ""


def _goal(goal: float | None) -> str:
    return "" if goal is None else f"{goal:g}"


if __name__ == "__main__":
    main()
