"""The command ``import-ams``."""

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import UserOption
from ledger.cli.output import counted, one_line
from ledger.errors import ImportRefused
from ledger.settings import secret_now

if TYPE_CHECKING:
    from ledger.server.ams_import import AmsImportResult

_SHOWN = 10


@command(app, "import-ams")
def import_ams(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server's address, such as http://localhost:8000.")],
    token: Annotated[str | None, typer.Option(help="The server's bearer token, if it needs one.")] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, help="How many seconds reading the server may take in all.")
    ] = 3_600,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    user: UserOption = None,
) -> None:
    """Import the sessions and long-term memory of a Redis Agent Memory Server from its API.

    --namespace and --user limit the import; names do not change. It can be run again: what exists already is
    skipped.
    """
    from ledger.server.ams_import import AmsImport, AmsSource  # noqa: PLC0415 - loads the web framework
    from ledger.server.service_settings import load_service_settings  # noqa: PLC0415

    opts = options()
    token = secret_now("MEMORY_LEDGER_IMPORT_TOKEN") if token is None else token
    service = load_service_settings()

    async def work() -> "AmsImportResult":
        with opts.output.progress("Importing", "sessions") as progress:
            async with (
                AmsSource.open(url, token=token, deadline_s=timeout) as source,
                AmsImport.open(opts.settings, service) as taking,
            ):
                return await taking.run(
                    source, namespace=opts.namespace, user_id=user, dry_run=dry_run, progress=progress
                )

    done = run(work)

    def show() -> None:
        verb = "would be imported" if dry_run else "imported"
        opts.output.say(
            f"{counted(done.sessions, 'session')} with {counted(done.messages, 'message')} and "
            f"{counted(done.memories, 'memory')}, and {counted(done.records, 'record')} {verb}"
        )
        opts.output.say(
            f"skipped: {counted(done.unchanged, 'session')} and {counted(done.known_records, 'record')} that exist "
            f"already, {counted(done.continued, 'session')} continued here",
            "dim",
        )
        for item in done.refused[:_SHOWN]:
            opts.output.say(f"refused: {one_line(item.id, 60)}: {item.message}", "yellow")

    opts.output.result(done, show)
    if done.refused:
        raise ImportRefused("partly_refused", f"not imported: {counted(len(done.refused), 'session or record')}")
