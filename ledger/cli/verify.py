"""The command ``verify``."""

from typing import Annotated, Final, Literal

import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import UserOption, opened
from ledger.cli.output import counted
from ledger.verification import Finding, VerifyReport

EXIT_CODES: Final[dict[str, int]] = {
    "OK-CHAINED": 0,
    "EMPTY": 0,
    "CACHES DIFFER": 13,
    "CANNOT VERIFY": 20,
    "TAMPERED": 40,
}
NOT_ENOUGH_EXIT: Final = 12  # trust V-4: chained, but more was required


@command(app)
def verify(
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="One session; by default all of them.")
    ] = None,
    require: Annotated[
        Literal["chained", "signed", "witnessed"], typer.Option(help="The weakest proof to accept.")
    ] = "chained",
    user: UserOption = None,
    caches: Annotated[
        bool | None,
        typer.Option(
            help="Compare what is stored beside the log with a replay, too; by default only on the embedded server.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Recompute every hash and check every position; list what is not as it was written.

    Exit codes: 0 as written, or empty; 12 chained, but more was required; 13 caches differ; 20 cannot be verified;
    40 tampered.
    """
    opts = options()
    compared = opts.settings.database_url is None if caches is None else caches

    async def work() -> VerifyReport:
        async with opened(opts) as ledger:
            with opts.output.progress("Verifying", "events") as progress:
                return await ledger.verify(session, user_id=user, caches=compared, progress=progress)

    report = run(work)

    def show() -> None:
        style = "bold green" if report.ok else "bold red"
        opts.output.say(f"{report.verdict}: {counted(report.checked, 'event')} checked", style)
        for finding in report.findings:
            opts.output.say(f"  {_where(finding)}: {finding.problem} (layer {finding.layer})")

    opts.output.result(report, show)
    code = EXIT_CODES[report.verdict]
    if report.ok and require != "chained":
        code = NOT_ENOUGH_EXIT
    if code:
        raise typer.Exit(code)


def _where(finding: Finding) -> str:
    stream = finding.session_id or (str(finding.stream_id) if finding.stream_id else "namespace " + finding.namespace)
    owner = f" of {finding.user_id}" if finding.user_id else ""
    return f"{stream}{owner}" + (f" version {finding.version}" if finding.version is not None else "")
