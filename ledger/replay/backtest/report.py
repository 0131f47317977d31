"""Write the report of a backtest into a folder: ``report.json``, ``report.html``, plots; each file atomically."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from ledger.replay.backtest.backtest_run import BacktestSession, Plan
from ledger.replay.backtest.explaining import Explained
from ledger.replay.backtest.measures import Measured
from ledger.replay.backtest.plots import plots
from ledger.replay.backtest.report_page import page
from ledger.replay.backtest.totals import Row, findings, row
from projections.memory_config import config as memory_config

MEASURED_FILE: Final = "measured.jsonl"


class BacktestReport(msgspec.Struct, frozen=True, kw_only=True):
    """The rows in the order of the configs, the measures of each session, findings and notes."""

    rows: tuple[Row, ...]
    measured: tuple[Measured, ...]
    findings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    explained: tuple[Explained, ...] = ()


def report_of(
    measured: Sequence[Measured],
    plan: Plan,
    sessions: Sequence[BacktestSession],
    *,
    explained: Sequence[Explained] = (),
) -> BacktestReport:
    """Return the table, with notes on how to read it."""
    rows = tuple(row(name, [item for item in measured if item.config == name]) for name, _ in plan.configs)
    names = {session.name for session in sessions}
    unasked = sum(question.session not in names for question in plan.questions)
    writer = "the heuristic" if plan.summaries == "heuristic" else "models, as recorded, else estimated in length"
    notes = [f"Summaries by {writer}. Prices as of {plan.prices.as_of}."]
    if unasked:
        notes.append(f"{unasked:,} questions are about sessions that were not among these.")
    if rows and rows[0].unplaced:
        so = "are no literal quotes and are left out" if plan.exact else "are in no entry and count as lost"
        notes.append(f"{rows[0].unplaced:,} pieces of evidence {so}.")
    return BacktestReport(
        rows=rows,
        measured=tuple(measured),
        findings=findings(rows, dict(plan.configs)),
        notes=tuple(notes),
        explained=tuple(explained),
    )


def report_value(report: BacktestReport) -> dict[str, Any]:
    """Return the table as JSON: keys as in `Row`, shares and costs as numbers."""
    return {
        "configs": [_row_value(row) for row in report.rows],
        "findings": list(report.findings),
        "notes": list(report.notes),
        "explained": msgspec.to_builtins(report.explained),
    }


def write(report: BacktestReport, plan: Plan, folder: Path) -> list[str]:
    """Write the report into *folder* and return the names of its files; without matplotlib it has no plots.

    Raises:
        OSError: the folder cannot be written.
    """
    pictures = plots(report.rows, report.measured)
    configs = {name: memory_config.dump(config) for name, config in plan.configs}
    files = {
        "report.json": msgspec.json.format(msgspec.json.encode(report_value(report)), indent=2) + b"\n",
        "report.html": page(report.rows, configs, pictures, report.notes, report.findings, report.explained).encode(),
        **pictures,
    }
    for name, data in files.items():
        part = folder / f"{name}.part"
        part.write_bytes(data)
        part.replace(folder / name)
    return list(files)


def _row_value(row: Row) -> dict[str, Any]:
    value = {"config": row.config, **_numbers(row)}
    value["categories"] = [{"category": part.category, **_numbers(part)} for part in row.categories]
    value["curve"] = [_numbers(point) for point in row.curve]
    return value


def _numbers(struct: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of *struct*, shares and costs as numbers."""
    fields = msgspec.structs.asdict(struct)
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in fields.items()}
