"""The command that proves: verify."""

from typing import Annotated, Final, Literal

import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.arguments import UserOption, opened
from ledger.verify import EXIT_CODES, Finding, VerifyReport

_LEVELS: Final = ("chained", "signed", "witnessed")
_MORE_REQUIRED: Final = 12  # trust V-4


@command(app)
def verify(
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="One session; all of them unless given.")
    ] = None,
    require: Annotated[
        Literal["chained", "signed", "witnessed"], typer.Option(help="The least proof that will do.")
    ] = "chained",
    user: UserOption = None,
) -> None:
    """Recompute every hash and check every place; say what is not as it was written.

    Exit codes: 0 as written; 12 chained, but more was required; 20 cannot be verified; 40 tampered.
    """
    opts = options()

    async def work() -> VerifyReport:
        async with opened(opts) as ledger:
            with opts.output.progress("Verifying", "events") as progress:
                return await ledger.verify(session, user_id=user, progress=progress)

    report = run(work)

    def show() -> None:
        style = "bold green" if report.ok else "bold red"
        opts.output.say(f"{report.verdict}: {report.checked:,} events checked", style)
        for finding in report.findings:
            opts.output.say(f"  {_where(finding)}: {finding.problem} (layer {finding.layer})")

    opts.output.result(report, show)
    code = EXIT_CODES[report.verdict]
    if report.ok and require != _LEVELS[0]:
        code = _MORE_REQUIRED
    if code:
        raise typer.Exit(code)


def _where(finding: Finding) -> str:
    stream = finding.session_id or (str(finding.stream_id) if finding.stream_id else "namespace " + finding.namespace)
    owner = f" of {finding.user_id}" if finding.user_id else ""
    return f"{stream}{owner}" + (f" version {finding.version}" if finding.version is not None else "")
