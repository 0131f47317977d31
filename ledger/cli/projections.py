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
        for stored_projection_info in found:
            table.add_row(
                stored_projection_info.name, str(stored_projection_info.version), stored_projection_info.keeps
            )
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
        for build_status in found:
            table.add_row(
                build_status.name,
                str(build_status.version),
                str(build_status.build),
                build_status.status,
                f"{build_status.position:,}",
                f"{build_status.last_position - build_status.position:,}",
                "yes" if build_status.current else "no",
                "same" if build_status.same_code else "other",
                moment(build_status.updated_at),
            )
        opts.output.console.print(table)
        if any(build_status.current and not build_status.same_code for build_status in found):
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
        for rebuilt in found:
            went_on = f", went on from {rebuilt.resumed_at:,}" if rebuilt.resumed_at else ""
            opts.output.say(
                f"{rebuilt.name} version {rebuilt.version}, build {rebuilt.build}: "
                f"{rebuilt.position:,} events folded{went_on}; readers use it now"
            )

    opts.output.result({"projections": found}, show)
