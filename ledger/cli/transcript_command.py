"""The command ``transcript``."""

from typing import Annotated

import typer

from ledger.application.json_models.entry_json import EntryShape, TranscriptShape
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, check_exists, opened, when
from ledger.cli.output import STYLES
from projections.entries import Entry
from projections.prompts import label


@command(app)
def transcript(
    session: SessionArgument,
    last: Annotated[int, typer.Option("--last", metavar="N", help="How many entries at the end.")] = 20,
    after: Annotated[
        int | None, typer.Option("--after", metavar="VERSION", help="Only entries added after this version.")
    ] = None,
    user: UserOption = None,
    at: AtOption = None,
) -> None:
    """Print the newest entries, compacted or not, without reading the whole session."""
    opts = options()

    async def work() -> list[Entry]:
        async with opened(opts) as ledger:
            found = await ledger.get_transcript(session, last=last, after=after, **when(at, user))
            if not found:
                await check_exists(ledger, session, user)
            return found

    found = run(work)

    def show() -> None:
        for entry in found:
            opts.output.say(f"{entry.version:>6} {label(entry)}", STYLES.get(entry.role, ""))
            opts.output.say(entry.content)

    shape = TranscriptShape(entries=tuple(EntryShape.model_validate(entry) for entry in found))
    opts.output.result(shape, show)
