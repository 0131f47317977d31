"""The commands ``projections list``, ``status`` and ``rebuild``."""

from typing import Annotated

import typer

from ledger.cli.app import command, options, projections, run
from ledger.cli.common_options import opened
from ledger.cli.output import counted, moment
from ledger.indexes.stored_projections.registry import BuildStatus, RebuiltProjection, StoredProjectionInfo


@command(projections, "list")
def list_() -> None:
    """List the stored projections: name, version and what each is for."""
    opts = options()

    async def work() -> list[StoredProjectionInfo]:
        async with opened(opts) as ledger:
            return ledger.stored_projections()

    found = run(work)

    def show() -> None:
        rows = [(projection.name, str(projection.version), projection.keeps) for projection in found]
        opts.output.table(("projection", ">version", "~contains"), rows)

    opts.output.result({"projections": found}, show)


@command(projections)
def status() -> None:
    """Show each build: its progress, whether readers use it, and whether this code built it."""
    opts = options()

    async def work() -> list[BuildStatus]:
        async with opened(opts) as ledger:
            return await ledger.projection_builds()

    found = run(work)

    def show() -> None:
        if not found:
            opts.output.say("There are no builds yet; the first read starts one.")
            return
        columns = (
            "projection", "?>version", "?>build", "status", ">position", ">behind", "read", "code", "updated (UTC)"
        )  # fmt: skip
        rows = [
            (
                build.name,
                str(build.version),
                str(build.build),
                build.status,
                f"{build.position:,}",
                f"{build.last_position - build.position:,}",
                "yes" if build.current else "no",
                "same" if build.same_code else "other",
                moment(build.updated_at),
            )
            for build in found
        ]
        opts.output.table(columns, rows)
        for build in found:
            if build.last_error:
                opts.output.say(f"{build.name} is stuck behind position {build.position:,}: {build.last_error}", "red")
        if any(build.current and not build.same_code for build in found):
            opts.output.say("Other code built some rows: run memory-ledger projections rebuild", "yellow")

    opts.output.result({"builds": found}, show)


@command(projections)
def rebuild(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One projection; by default all of them.")] = None,
) -> None:
    """Build stored projections again from the log; readers use the old build until it is done.

    A rebuild that was interrupted continues where it stopped.
    """
    opts = options()

    async def work() -> list[RebuiltProjection]:
        async with opened(opts) as ledger:
            with opts.output.progress("Rebuilding", "events") as progress:
                return await ledger.rebuild_projections(name, progress=lambda _, done, total: progress(done, total))

    found = run(work)

    def show() -> None:
        for rebuilt in found:
            resumed = f", continued from {rebuilt.resumed_at:,}" if rebuilt.resumed_at else ""
            opts.output.say(
                f"{rebuilt.name} version {rebuilt.version}, build {rebuilt.build}: "
                f"{counted(rebuilt.position, 'event')} folded{resumed}; readers use it now"
            )

    opts.output.result({"projections": found}, show)
