"""The commands ``what-if``, ``diff`` and ``adopt``; only the last one writes."""

from typing import Annotated, Literal, TypeAlias

import typer

from ledger.application.json_models.comparison_json import DifferenceShape, WhatIfShape
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, config_in, opened, point, when
from ledger.cli.config_commands import RebuildOption, show_findings
from ledger.cli.output import Output, counted, one_line
from ledger.cli.rebuild_progress import rebuilt
from ledger.errors import InvalidInput
from ledger.history.difference import Difference, Side
from ledger.results import Point, WhatIf
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig

ConfigOption: TypeAlias = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="A memory config as JSON; or -.")
]
OnMissOption: TypeAlias = Annotated[
    Literal["raise", "call", "estimate"],
    typer.Option("--on-miss", help="What to do for a summary that no model has written."),
]


@command(app, "what-if")
def what_if(
    session: SessionArgument,
    config: ConfigOption = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", metavar="ENTRY", help="Leave this entry out, by id or version; repeat for more."),
    ] = None,
    at: AtOption = None,
    on_miss: OnMissOption = "raise",
    recount: Annotated[
        bool, typer.Option("--recount", help="Count tokens again, with the config's tokenizer.")
    ] = False,
    user: UserOption = None,
) -> None:
    """Show what the model would see under another config or without an entry; writes nothing."""
    opts = options()
    if config is None and not without and not recount:
        raise InvalidInput("missing_field", "give --config, --without or --recount", field="--config")
    wanted = None if config is None else config_in(config)
    then = when(at, user)
    left_out = [int(name) if name.isascii() and name.isdigit() else name for name in without or []]

    async def work() -> WhatIf:
        async with opened(opts) as ledger:
            return await ledger.what_if(session, wanted, on_miss=on_miss, without=left_out, recount=recount, **then)

    found = run(work)

    def show() -> None:
        show_difference(opts.output, found.difference)
        answers = found.answers
        if answers.recorded + answers.called + answers.estimated:
            opts.output.say(
                f"Summaries: {answers.recorded} recorded, {answers.called} written now, {answers.estimated} estimated",
                style="dim",
            )
        if found.failed:
            opts.output.say(f"{counted(found.failed, 'compaction')} would have failed", style="yellow")
        show_findings(opts.output, found.findings)

    opts.output.result(WhatIfShape.model_validate(found), show)


@command(app)
def diff(
    session: SessionArgument,
    before: Annotated[str | None, typer.Argument(metavar="A", help="A version or timestamp.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help="Another version or timestamp.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="FILE", help="A memory config instead of B; twice, instead of A and B."),
    ] = None,
    on_miss: OnMissOption = "raise",
    user: UserOption = None,
) -> None:
    """Compare what the model was, or would be, shown at two versions or configs, and the cost."""
    opts = options()
    given: list[str] = [text for text in (before, after) if text is not None]
    configs: list[MemoryConfig] = [config_in(file) for file in config or []]
    if len(given) + len(configs) > 2 or len(given) + 2 * len(configs) < 2:
        raise InvalidInput("missing_field", "give two of these: versions, timestamps, --config files", field="A B")
    times = [point(text, name) for text, name in zip(given, "AB", strict=False)]

    async def work() -> Difference:
        async with opened(opts) as ledger:
            points: list[Point | None] = [*times, *configs]
            if len(points) == 1:
                points.insert(0, None)
            return await ledger.diff(session, points[0], points[1], on_miss=on_miss, user_id=user)

    found = run(work)
    opts.output.result(DifferenceShape.model_validate(found), lambda: show_difference(opts.output, found))


@command(app)
def adopt(
    session: SessionArgument,
    config: ConfigOption = None,
    rebuild: RebuildOption = False,
    user: UserOption = None,
) -> None:
    """Set a session's whole memory config; with --rebuild, for its whole history."""
    opts = options()
    if config is None:
        raise InvalidInput("missing_field", "give the memory config to adopt", field="--config")
    wanted = config_in(config)

    async def work() -> MemoryConfig:
        async with opened(opts) as ledger:
            adopted = await ledger.update_config(
                session, wanted, replace=True, existing=True, rebuild=rebuild, user_id=user
            )
            return (await rebuilt(ledger, opts.output, session, adopted, user_id=user)).config

    value = memory_config.dump(run(work))
    opts.output.result(value, lambda: opts.output.console.print_json(data=value))


def show_difference(output: Output, found: Difference) -> None:
    """Print both sides, and what only one of them shows."""
    for side, sign, style in ((found.before, "-", "red"), (found.after, "+", "green")):
        output.say(f"{sign * 3} {_head(side)}", style="bold")
        for summary in side.only_summaries:
            head = f"[summary of {counted(summary.entry_count, 'entry')}]"
            output.say(f"{sign} {head} {one_line(summary.text, 90)}", style=style)
        for entry in side.only_entries:
            output.say(f"{sign} {entry.version:>5} {entry.kind}: {one_line(entry.content, 90)}", style=style)
    for edit in found.edited:
        old, new = one_line(edit.before.content, 40), one_line(edit.after.content, 40)
        output.say(f"~ {edit.before.version:>5} {old} → {new}", style="yellow")
    if found.empty:
        output.say("Both show the same.")
    if found.config_changed:
        output.say("The memory config differs.", style="yellow")


def _head(side: Side) -> str:
    name = "what-if at version" if side.what_if else "version"
    spent = side.spent
    cost = "" if spent.cost_usd is None else f", ${spent.cost_usd:.4f}"
    calls = f"; {counted(spent.model_calls, 'model call')}, {spent.input_tokens + spent.output_tokens:,} tokens{cost}"
    excess = f" ({side.budget.excess:,} over the limit)" if side.budget.over_budget else ""
    return (
        f"{name} {side.version}: {side.budget.tokens:,} tokens shown{excess}, "
        f"{counted(spent.compactions, 'compaction')}{calls if spent.model_calls else ''}"
    )
