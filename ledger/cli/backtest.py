"""The command ``backtest``."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from ledger.cli.app import Options, app, command, options, run
from ledger.cli.common_options import UserOption, config_in, opened
from ledger.cli.file_source import in_file, lines, spooled
from ledger.cli.output import safe
from ledger.errors import ImportRefused, InvalidInput
from ledger.formats.importers import documents
from ledger.llm.prices import load_prices
from ledger.replay.backtest.backtest_run import BacktestSession, Plan
from ledger.replay.backtest.backtest_run import run as run_all
from ledger.replay.backtest.columns import (
    RANKED,
    WORDS,
    category_cells,
    category_columns,
    cells,
    columns,
    ranked_cells,
    title_of,
    where,
)
from ledger.replay.backtest.explaining import Explained
from ledger.replay.backtest.explaining import explain as explained_of
from ledger.replay.backtest.plots import can_plot
from ledger.replay.backtest.questions import Question, is_bfcl, read_questions
from ledger.replay.backtest.report import MEASURED_FILE, BacktestReport, report_of, report_value, write
from projections.memory_config.config import MemoryConfig

_PAGE = 1_000
_GAP = 2  # blanks between columns
_NAME = 32  # longer names are wrapped


@command(app)
def backtest(
    config: Annotated[
        list[str] | None, typer.Option("--config", metavar="FILE", help="A memory config to try; repeat for more.")
    ] = None,
    sessions: Annotated[
        str, typer.Option("--sessions", metavar="GLOB", help="Only sessions with such an id, e.g. 'support-*'.")
    ] = "*",
    questions: Annotated[
        list[str] | None,
        typer.Option("--questions", metavar="FILE", help="Questions with known evidence; repeat for more files."),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="TEXT", help="Show what outranked the evidence of questions with this text."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Leave out evidence that no entry contains word for word.")
    ] = False,
    summaries: Annotated[
        Literal["heuristic", "estimate"],
        typer.Option(help="Write summaries without a model, or take recorded ones and estimate the others' length."),
    ] = "heuristic",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The model to price estimates, for configs that name none."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes; by default one per core.")] = (
        os.cpu_count() or 1
    ),
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write a report here, or resume an interrupted run.")
    ] = None,
    user: UserOption = None,
) -> None:
    """Try memory configs on recorded sessions and compare tokens, summaries and evidence shown."""
    opts = options()
    plan = Plan(
        configs=_configs(config or []),
        questions=tuple(question for file in questions or () for question in _questions(file)),
        exact=exact,
        prices=load_prices(opts.settings.prices),
        summaries=summaries,
        model=model or opts.settings.summarizer_model,
    )
    unclear = _unclear(plan, explain)
    if out is not None:
        _create(out)
        if not can_plot():
            opts.output.note("without matplotlib the report has no plots; pip install 'memory-ledger[reports]'")
    found = run(lambda: _sessions(opts, sessions, user))
    if not found:
        where = "here" if sessions == "*" else "with such an id"
        raise InvalidInput("no_session", f"there are no sessions {where}; `memory-ledger sessions` lists them")
    with opts.output.progress("Trying", "sessions under a config") as progress:
        measured = run_all(
            found, plan, jobs=jobs, measured_file=out / MEASURED_FILE if out else None, progress=progress
        )
    explained = [item for session in found for item in explained_of(session, plan, unclear)]
    report = report_of(measured, plan, found, explained=explained)
    files = write(report, plan, out) if out else []
    value = {**report_value(report), "out": str(out) if out else None, "files": files}
    opts.output.result(value, lambda: _show(opts, report, out))


def _configs(files: list[str]) -> tuple[tuple[str, MemoryConfig], ...]:
    """Return the configs by file name; a name that repeats gets a number."""
    if not files:
        raise InvalidInput("missing_field", "give at least one memory config", field="--config")
    named: dict[str, MemoryConfig] = {}
    for file in files:
        name, number = Path(file).stem, 1
        while name in named:
            number += 1
            name = f"{Path(file).stem}-{number}"
        named[name] = config_in(file)
    return tuple(named.items())


def _questions(file: str) -> list[Question]:
    with _named(file), spooled(file) as spool:
        found = documents(lines(spool))
        if not is_bfcl(found[0]):
            return read_questions(found)
    beside = str(Path(file).with_suffix(".possible_answer.json"))
    with _named(beside), spooled(beside) as spool:
        return read_questions(found, documents(lines(spool)))


def _unclear(plan: Plan, text: str | None) -> list[Question]:
    """Return the questions to explain: those that contain *text*, whatever its case."""
    if text is None:
        return []
    found = [question for question in plan.questions if text.casefold() in question.question.casefold()]
    if not found:
        raise InvalidInput("no_question", "no question of `--questions` contains this text", field="--explain")
    return found


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Name *file* in errors about its content."""
    try:
        yield
    except ImportRefused as fault:
        raise in_file(fault, file) from None


async def _sessions(opts: Options, pattern: str, user: str | None) -> list[BacktestSession]:
    """Return the sessions whose ids match *pattern*, by id; without *user* their names contain their users."""
    found: list[BacktestSession] = []
    async with opened(opts) as ledger:
        rows, last = [], None
        while page := await ledger.list_sessions(user_id=user, after=last, limit=_PAGE):
            rows += [row for row in page if fnmatchcase(row.session_id, pattern)]
            last = (page[-1].updated_at, page[-1].stream_id)
        with opts.output.progress("Reading", "sessions") as progress:
            for number, row in enumerate(sorted(rows, key=lambda row: (row.session_id, row.user_id)), start=1):
                events = await ledger.get_events(row.session_id, user_id=row.user_id or None)
                name = row.session_id if user or not row.user_id else f"{row.user_id}:{row.session_id}"
                found.append(BacktestSession(name, tuple(events)))
                progress(number, len(rows))
    return found


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        message = f"cannot be created: {os.strerror(fault.errno or 0)}"
        raise InvalidInput("no_folder", message, field=str(folder)) from None


def _show(opts: Options, report: BacktestReport, out: Path | None) -> None:
    _table(opts, [name for name, _ in columns(report.rows)], [cells(row) for row in report.rows])
    by_category = [name for name, _ in category_columns(report.rows)]
    if by_category:
        opts.output.console.print()
        _table(opts, by_category, category_cells(report.rows))
    for item in report.explained:
        _explanation(opts, item)
    for line in report.findings:
        opts.output.say(line)
    for note in report.notes:
        opts.output.say(note, style="dim")
    if out is not None:
        opts.output.say(f"Report: {out / 'report.html'}")


def _explanation(opts: Options, item: Explained) -> None:
    opts.output.console.print()
    opts.output.say(title_of(item), style="bold")
    for piece in item.pieces:
        opts.output.say(where(piece, item.matches))
        table = Table(header_style="bold", box=None, pad_edge=False)
        for name in RANKED:
            table.add_column(name, justify="left" if name in WORDS else "right", no_wrap=name not in WORDS)
        for line in ranked_cells(piece):
            table.add_row(*(safe(line[name]) for name in RANKED))
        opts.output.console.print(table)


def _table(opts: Options, names: list[str], lines: list[dict[str, str]]) -> None:
    """Print *lines*; the first column names them, and stands in each part of a table that is too wide."""
    for part in _parts(names, lines, opts.output.console.width):
        table = Table(header_style="bold", box=None, pad_edge=False)
        table.add_column(part[0], overflow="fold", max_width=_NAME)
        for name in part[1:]:
            table.add_column(safe(name).replace(" ", "\n"), justify="right", overflow="fold", max_width=_NAME)
        for line in lines:
            table.add_row(*(safe(line[name]) for name in part))
        opts.output.console.print(table)


def _parts(names: list[str], lines: list[dict[str, str]], room: int) -> list[list[str]]:
    """Return the columns of the fewest tables, of similar width, that fit without cutting a number."""
    first, *others = names

    def width(name: str) -> int:
        return min(max(len(text) for text in (*name.split(), *(safe(line[name]) for line in lines))), _NAME)

    for count in range(1, len(others) + 1):
        size = -(-len(others) // count)
        parts = [[first, *others[start : start + size]] for start in range(0, len(others), size)]
        if all(sum(map(width, part)) + _GAP * (len(part) - 1) <= room for part in parts):
            return parts
    return [[first, name] for name in others]
