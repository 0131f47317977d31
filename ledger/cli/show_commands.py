"""The commands ``show``, ``context`` and ``stats``."""

from datetime import datetime
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from ledger.application.json_models.search_json import RecalledShape
from ledger.application.json_models.session_json import BudgetShape, ShownStateShape, StateShape, StatsShape
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, opened, timestamp, when
from ledger.cli.output import STYLES, Output, counted, moment, one_line, safe
from ledger.cli.search_command import WHY, explained
from ledger.events.clock import SystemClock
from ledger.formats.messages import REQUESTS
from ledger.results import Context
from ledger.session.state import SessionState
from projections.log.history import PastEntry
from projections.memory_config.budget import Budget
from projections.prompts import label
from projections.summaries import Summary


@command(app)
def show(
    session: SessionArgument,
    user: UserOption = None,
    at: AtOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Also entries that were removed or cleared.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Print whole texts.")] = False,
) -> None:
    """Show all entries: what is in the window, and which summary covers the rest."""
    opts = options()

    async def work() -> tuple[list[PastEntry], SessionState, set[int]]:
        async with opened(opts) as ledger:
            state = await ledger.get_state(session, **when(at, user))
            history = await ledger.get_history(session, version=state.version, user_id=user)
            context = await ledger.get_context(session, version=state.version, user_id=user)
            past = [past for past in history.entries if everything or past.status not in {"removed", "cleared"}]
            shown = {entry.version for entry in context.entries}
            return past, state, shown

    past, state, shown = run(work)
    live, version = state.summaries.live, state.version
    moment_shown = None if at is None or at.isdigit() else timestamp(at)
    value = StateShape.of(
        state,
        past,
        session_id=session,
        user_id=user,
        namespace=opts.settings.namespace,
        now=moment_shown or SystemClock().now(),
    )

    def show_transcript() -> None:
        entries = counted(len(past), "entry")
        opts.output.say(f"{session} at version {version}: {entries}, {len(shown)} in the window", style="bold")
        numbers = {summary.summary_id: number for number, summary in enumerate(live, start=1)}
        marks = [_mark(past, past.version in shown, numbers) for past in past]
        width = max(map(len, marks), default=0)
        for past_entry, mark in zip(past, marks, strict=True):
            _print_entry(opts.output, past_entry, mark.ljust(width), full=full)
        for summary in live:
            _print_summary(opts.output, summary, numbers[summary.summary_id])
        opts.output.say("● in the window   ○ active, not shown   S1 covered by summary 1", style="dim")

    opts.output.result(ShownStateShape.with_window(value, shown), show_transcript)


@command(app)
def context(
    session: SessionArgument,
    user: UserOption = None,
    at: AtOption = None,
    form: Annotated[
        Literal["text", "messages", "rolling", "budget", "openai", "responses", "anthropic"],
        typer.Option(
            "--format",
            help="Plain text; chat messages or interactions as JSON; tokens by part; or a request for an API.",
        ),
    ] = "text",
    query: Annotated[
        str | None, typer.Option("--query", metavar="TEXT", help="The query of recall and knowledge bases.")
    ] = None,
    record: Annotated[bool, typer.Option("--record", help="Record what is printed as an event, as proof.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show too why a search brought entries back.")] = False,
) -> None:
    """Print what the model is shown."""
    opts = options()

    async def work() -> tuple[Context, dict[str, bytes], int]:
        async with opened(opts) as ledger:
            await ledger.get_state(session, user_id=user)  # an unknown session is refused
            found = await ledger.get_context(session, **when(at, user), query=query, record=record)
            stats = await ledger.get_stats(session, version=found.version, user_id=user)
            attachments = await ledger.get_attachments(found, user_id=user) if form in REQUESTS else {}
            return found, attachments, stats.window_not_known

    found, attachments, not_known = run(work)
    value = {
        "session_id": session,
        "version": found.version,
        "tokens": found.tokens,
        "budget": BudgetShape.model_validate(found.budget),
        "counted_by_text": list(found.counted_by_text),
        "window_not_known": not_known,
        "recalled": [RecalledShape.model_validate(entry) for entry in found.recalled],
        "text": found.text,
        "messages": found.messages,
        "rolling": found.rolling,
    }
    if form in REQUESTS:
        value[form] = REQUESTS[form](found.shown_messages, attachments)

    def show_context() -> None:
        if form == "text":
            opts.output.say(found.text)
        elif form == "budget":
            show_budget(opts.output, found.budget)
        else:
            opts.output.document(value[form])
        if explain:
            entries = {entry.version: entry for entry in found.entries}
            rows = [
                [str(version), *explained(why), one_line(entries[version].content, 60)]
                for version, why in found.window.why
            ]
            if not rows:
                opts.output.say("No entry was brought back by a search.", "dim")
            opts.output.table((">version", *WHY, "~text"), rows)
        if found.budget.over_budget:
            opts.output.note(over_limit(found.budget))
        if not_known:
            opts.output.note(
                "the log of this session does not say all that the agent sent, so it may have been shown something "
                "else; `import` of the file says where"
            )
        if older := len(found.counted_by_text):
            opts.output.note(
                f"{older} of the entries were counted by their text alone, by an older release: a request has more "
                "tokens; `memory-ledger what-if SESSION --recount` counts them again"
            )

    opts.output.result(value, show_context)


@command(app)
def stats(session: SessionArgument, user: UserOption = None, at: AtOption = None) -> None:
    """Count entries, summaries and tokens."""
    opts = options()

    async def work() -> Any:
        async with opened(opts) as ledger:
            await ledger.get_state(session, user_id=user)  # an unknown session is refused
            return await ledger.get_stats(session, **when(at, user))

    found = run(work)

    def show_table() -> None:
        words = {"total_tokens": "tokens kept", "active_tokens": "tokens kept of entries"}
        rows = [
            (words.get(name, name.replace("_", " ")), cell_of(getattr(found, name))) for name in found.__struct_fields__
        ]
        opts.output.table(("", ">"), rows)

    opts.output.result(StatsShape.model_validate(found), show_table)


def show_budget(output: Output, budget: Budget) -> None:
    """Print the tokens of each part, their sum, the limit and the excess."""
    parts = [name for name in budget.__struct_fields__ if name != "limit"]
    rows = [(name.replace("_", " "), cell_of(getattr(budget, name))) for name in parts]
    sums = [("tokens shown", budget.tokens), ("limit", budget.limit), ("excess", budget.excess)]
    output.table(("", ">"), [*rows, *((name, cell_of(value)) for name, value in sums)])


def over_limit(budget: Budget) -> str:
    """Return a sentence about a budget that is exceeded."""
    return f"{budget.tokens:,} tokens are shown; the limit is {budget.limit:,}"


def cell_of(value: object) -> str:
    """Return a statistic for people."""
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case datetime():
            return moment(value)
        case _:
            return str(value)


def _mark(past: PastEntry, shown: bool, numbers: dict[str, int]) -> str:
    """Return the mark of an entry: in the window, in a live summary, or its status."""
    if shown:
        return "●"
    if past.status == "active":
        return "○"
    if past.status == "covered":
        live = [numbers[summary_id] for summary_id in past.summary_ids if summary_id in numbers]
        return f"S{live[-1]}" if live else "S"
    return past.status


def _print_entry(output: Output, entry: PastEntry, mark: str, *, full: bool) -> None:
    width = max(40, output.console.width - 36)
    text = safe(entry.content) if full else one_line(entry.content, width)
    line = Text(f"{entry.version:>6} {mark} ")
    line.append(f"{one_line(label(entry), 20):<21}", style=STYLES.get(entry.role, ""))
    line.append(text, style="" if mark.startswith("●") else "dim")
    output.console.print(line)


def _print_summary(output: Output, summary: Summary, number: int) -> None:
    entries = counted(summary.entry_count, "entry")
    head = f"\nSummary {number}: {entries}, {summary.tokens_before:,} → {summary.tokens:,} tokens"
    output.say(f"{head}, by {summary.model or summary.method}", style="bold")
    output.say(summary.text)
