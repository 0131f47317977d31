"""The command that takes over what a Redis Agent Memory Server keeps: import-ams."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.arguments import UserOption
from ledger.cli.output import one_line
from ledger.errors import ImportRefused, Unavailable

if TYPE_CHECKING:
    from ledger.server.ams_import import AmsImportResult

_SHOWN = 10


@command(app, "import-ams")
def import_ams(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the server is, such as http://localhost:8000.")],
    token: Annotated[
        str | None,
        typer.Option(envvar="MEMORY_LEDGER_IMPORT_TOKEN", show_envvar=False, help="A bearer token it asks for."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    user: UserOption = None,
) -> None:
    """Take over the sessions and long-term memory of a Redis Agent Memory Server, through its API.

    --namespace and --user limit it to theirs; all keep their names. It may be run again: what is here already is
    left alone.
    """
    if find_spec("fastapi") is None or find_spec("httpcore") is None:
        raise Unavailable("this needs more packages: pip install 'memory-ledger[server]'")
    from ledger.server.ams_import import AmsImport, AmsSource  # noqa: PLC0415 - loads the web framework
    from ledger.server.settings import load_service_settings  # noqa: PLC0415

    opts = options()
    service = load_service_settings()

    async def work() -> "AmsImportResult":
        with opts.output.progress("Taking over", "sessions") as progress:
            async with AmsSource.open(url, token=token) as source, AmsImport.open(opts.settings, service) as taking:
                return await taking.run(
                    source, namespace=opts.namespace, user_id=user, dry_run=dry_run, progress=progress
                )

    done = run(work)

    def show() -> None:
        verb = "would be taken over" if dry_run else "taken over"
        opts.output.say(
            f"{done.sessions:,} sessions with {done.messages:,} messages and {done.memories:,} memories, and "
            f"{done.records:,} records {verb}"
        )
        opts.output.say(
            f"left alone: {done.unchanged:,} sessions and {done.known_records:,} records that are here already, "
            f"{done.continued:,} sessions that were gone on with here",
            "dim",
        )
        for each in done.refused[:_SHOWN]:
            opts.output.say(f"refused: {one_line(each.id, 60)}: {each.message}", "yellow")

    opts.output.result(done, show)
    if done.refused:
        raise ImportRefused("partly_refused", f"{len(done.refused):,} sessions or records were not taken over")
