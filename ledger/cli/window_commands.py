"""The commands ``window`` and ``find``."""

from typing import Annotated

import typer

from ledger.application.json_models.window_json import TextMatchesShape, WindowShape
from ledger.application.reading.window_views import ShownWindow
from ledger.application.searching.exact_text import TextMatches
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, opened, when
from ledger.cli.output import counted, one_line, safe


@command(app)
def window(session: SessionArgument, user: UserOption = None, at: AtOption = None) -> None:
    """List what the model is shown item by item, and count what is hidden."""
    opts = options()

    async def work() -> ShownWindow:
        async with opened(opts) as ledger:
            return await ledger.get_window(session, limit=1_000, **when(at, user))

    found = run(work)

    def show_table() -> None:
        recorded = found.recorded.verdict if found.recorded else "not recorded"
        head = f"{safe(session)} at version {found.version}: {counted(found.total, 'item')}"
        opts.output.say(f"{head}, {counted(found.tokens, 'token')} shown, {recorded}", "bold")
        rows = [
            (
                str(item.version),
                item.source.replace("_", " "),
                safe(item.role or item.kind),
                "" if item.tokens is None else f"{item.tokens:,}",
                one_line(item.text, 60),
            )
            for item in found.items
        ]
        opts.output.table((">version", "part", "role", ">tokens", "~text"), rows)
        opts.output.say(f"{counted(found.hidden_total, 'active entry')} not shown", "dim")

    opts.output.result(WindowShape.model_validate(found), show_table)


@command(app)
def find(
    session: SessionArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The exact text, in upper or lower case.")],
    user: UserOption = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="VERSION", help="As the texts were at this version.")
    ] = None,
    after: Annotated[int, typer.Option(metavar="VERSION", help="Only texts written after this version.")] = 0,
) -> None:
    """Find exact text in the entries and summaries of a session, whatever became of them."""
    opts = options()

    async def work() -> TextMatches:
        async with opened(opts) as ledger:
            return await ledger.find(session, text, version=version, after=after, user_id=user)

    found = run(work)

    def show_table() -> None:
        rows = [
            (str(match.version), safe(match.role or match.kind), f"{match.count:,}", one_line(match.preview, 80))
            for match in found.matches
        ]
        if not rows:
            opts.output.say("Nothing was found.")
        opts.output.table((">version", "role", ">times", "~text"), rows)
        if found.next_after is not None:
            opts.output.say(f"There may be more; go on with --after {found.next_after}.", "dim")

    opts.output.result(TextMatchesShape.model_validate(found), show_table)
