"""Commands about stored projections: list, status, rebuild."""

from typing import Annotated

import typer

from ledger.cli.app import command, options, projections, run
from ledger.cli.arguments import opened
from ledger.cli.output import moment
from ledger.stored_projections.registry import BuildStatus, RebuiltProjection, StoredProjectionInfo


@command(projections, "list")
def list_() -> None:
    """List the stored projections there are: name, version, what each is for."""
    opts = options()

    async def work() -> list[StoredProjectionInfo]:
        async with opened(opts) as ledger:
            return ledger.stored_projections()

    found = run(work)

    def show() -> None:
        table = opts.output.table("projection", ">version", "keeps")
        for one in found:
            table.add_row(one.name, str(one.version), one.keeps)
        opts.output.console.print(table)

    opts.output.result({"projections": found}, show)


@command(projections)
def status() -> None:
    """Tell of each build how far it is, whether readers use it, and whether this release's code made it."""
    opts = options()

    async def work() -> list[BuildStatus]:
        async with opened(opts) as ledger:
            return await ledger.projection_builds()

    found = run(work)

    def show() -> None:
        if not found:
            opts.output.say("Nothing is built yet; whoever reads first builds it.")
            return
        table = opts.output.table(
            "projection", ">version", ">build", "status", ">position", ">behind", "read", "code", "updated (UTC)"
        )
        for one in found:
            table.add_row(
                one.name,
                str(one.version),
                str(one.build),
                one.status,
                f"{one.position:,}",
                f"{one.last_position - one.position:,}",
                "yes" if one.current else "no",
                "same" if one.same_code else "other",
                moment(one.updated_at),
            )
        opts.output.console.print(table)
        if any(one.current and not one.same_code for one in found):
            opts.output.say("Rows made by other code are read as they are: memory-ledger projections rebuild", "yellow")

    opts.output.result({"builds": found}, show)


@command(projections)
def rebuild(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One projection; all of them unless given.")
    ] = None,
) -> None:
    """Build stored projections anew from the log; readers use the old build until the new one is whole.

    A rebuild that was interrupted goes on where it was.
    """
    opts = options()

    async def work() -> list[RebuiltProjection]:
        async with opened(opts) as ledger:
            with opts.output.progress("Rebuilding", "events") as progress:
                return await ledger.rebuild_projections(name, progress=lambda _, done, total: progress(done, total))

    found = run(work)

    def show() -> None:
        for one in found:
            went_on = f", went on from {one.resumed_at:,}" if one.resumed_at else ""
            opts.output.say(
                f"{one.name} version {one.version}, build {one.build}: {one.position:,} events folded{went_on}; "
                "readers use it now"
            )

    opts.output.result({"projections": found}, show)
