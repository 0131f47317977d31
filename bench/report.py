"""The report of a run: one line for each row, on the terminal and in docs/benchmarks.md."""

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.goals import MORE, MUST_SHOW
from bench.rows import Goal, Row
from bench.workloads import Outcome

_HEAD: Final = ("what", "figure", "goal", "")
_BUSY: Final = 0.1


def line(row: Row, outcome: Outcome) -> tuple[str, str, str, str]:
    """Return the cells of *row*: its title, figures, goals, and whether they are met."""
    goals = _goals(row)
    figures = outcome.figures.get(row.key, {})
    if figures.keys() != row.parts.keys():
        return row.title, "", goals, _fault(row, outcome)
    found = " / ".join(_figure(figures[part], goal) for part, goal in row.parts.items())
    return row.title, found, goals, _verdict(row, figures)


def markdown(rows: Sequence[Row], outcome: Outcome) -> str:
    """Return *rows* as a table of a page."""
    lines = [_HEAD, ("---", "---:", "---:", "---"), *(line(row, outcome) for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def conditions(outcome: Outcome, postgres_version: str) -> str:
    """Return where and under which load a run was measured."""
    busy = statistics.median(outcome.waited) if outcome.waited else 0.0
    trust = "other programs were busy: trust CPU rather than latency" if busy > _BUSY else "the machine was quiet"
    return (
        f"PostgreSQL {postgres_version}, Python {platform.python_version()}, {os.cpu_count()} processors; "
        f"before each workload, pure Python waited for a processor {busy:.0%} of the time ({trust})."
    )


def show(console: Console, outcome: Outcome, workloads: Iterable[str]) -> None:
    """Print the rows of *workloads*."""
    wanted = set(workloads)
    table = Table(*_HEAD)
    for row in (*MUST_SHOW, *MORE):
        if row.workload in wanted:
            table.add_row(*line(row, outcome))
    console.print(table)


def _fault(row: Row, outcome: Outcome) -> str:
    fault = outcome.faults.get(row.workload)
    return "not measured" if fault is None else f"error: {' '.join(fault.split())[:200]}".replace("|", "\\|")


def _goals(row: Row) -> str:
    goals = [goal for goal in row.parts.values() if goal is not None]
    if len({str(goal) for goal in goals}) == 1:
        return str(goals[0])
    same_kind = len({goal.least for goal in goals}) == 1
    rest = [f"{goal.number:g}" if same_kind else str(goal) for goal in goals[1:]]
    return " / ".join([str(goals[0]), *rest]) if goals else ""


def _verdict(row: Row, figures: dict[str, float]) -> str:
    goals = {part: goal for part, goal in row.parts.items() if goal is not None}
    missed = [part for part, goal in goals.items() if not goal.is_met(figures[part])]
    if not goals:
        return ""
    if not missed:
        return "met"
    return "missed" if len(missed) == len(row.parts) else f"missed: {', '.join(missed)}"


def _figure(value: float, goal: Goal | None) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}{goal.unit if goal else ''}"
