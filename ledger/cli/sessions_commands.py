"""The commands ``sessions`` and ``family``."""

from collections.abc import Callable
from typing import Annotated, TypedDict

import typer
from msgspec.structs import replace

from ledger.application.forking.fork_family import Family
from ledger.application.json_models.session_json import FamilyShape, SessionShape
from ledger.application.reading.session_reads import PAGE_SESSIONS
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import SessionArgument, UserOption, opened, timestamp
from ledger.cli.output import counted, moment, safe
from ledger.errors import NotFound, Unreadable
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.indexes.stored_projections.session_rows import row_of
from ledger.memory import MemoryLedger
from ledger.ports.session_index import IndexedSession


class _Wanted(TypedDict):
    """Which sessions to list, as `MemoryLedger.list_sessions` takes it."""

    user_id: str | None
    id_part: str | None
    id_prefix: str | None
    user_prefix: str | None
    run_id: str | None


@command(app)
def sessions(
    user: UserOption = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIMESTAMP", help="The sessions at that time.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=2**31, help="The largest number of sessions, newest first.")] = 1_000,
    id_part: Annotated[str | None, typer.Option("--id", metavar="TEXT", help="Only ids that contain TEXT.")] = None,
    id_prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="Only ids that begin with TEXT.")] = None,
    user_prefix: Annotated[str | None, typer.Option(metavar="TEXT", help="Only users that begin with TEXT.")] = None,
    run_id: Annotated[str | None, typer.Option(metavar="ID", help="Only those in which this run wrote.")] = None,
) -> None:
    """List the sessions with their versions, entries, summaries and tokens."""
    opts = options()
    wanted: _Wanted = {
        "user_id": user, "id_part": id_part, "id_prefix": id_prefix, "user_prefix": user_prefix, "run_id": run_id
    }  # fmt: skip

    async def work() -> tuple[list[IndexedSession], bool]:
        async with opened(opts) as ledger:
            with opts.output.progress("Reading the log", "events") as progress:
                listed = await _listed(ledger, wanted, limit + 1, progress)
            more, listed = len(listed) > limit, listed[:limit]
            return listed if at is None else await _as_of(ledger, listed, at), more

    rows, more = run(work)
    namespace, now = opts.settings.namespace, SystemClock().now() if at is None else timestamp(at)
    shown = [SessionShape.of(row, namespace=namespace, now=now) for row in rows]

    def show_table() -> None:
        if not rows:
            opts.output.say("No sessions yet. Record one: memory-ledger add SESSION TEXT, or memory-ledger import FILE")
            return
        counts = (">version", "?>entries", "?>active", "?>summaries", ">tokens kept")
        columns = ("session", "user", "status", *counts, "updated (UTC)")
        lines = [
            (
                safe(row.session_id),
                safe(row.user_id or ""),
                row.status,
                *(f"{n:,}" for n in (row.version, row.entries, row.active, row.summaries, row.total_tokens)),
                moment(row.updated_at),
            )
            for row in shown
        ]
        opts.output.table(columns, lines)
        for row in shown:
            if row.failed_compactions:
                opts.output.say(_failing(row), "yellow")
        if more:
            these = "this" if limit == 1 else "these"
            opts.output.say(f"There are more than {these} {counted(limit, 'session')}; --limit shows more.", "dim")

    opts.output.result({"sessions": shown, "more": more}, show_table)


@command(app)
def family(session: SessionArgument, user: UserOption = None) -> None:
    """List a session, those it was forked from, and all forks of these."""
    opts = options()

    async def work() -> Family:
        async with opened(opts) as ledger:
            return await ledger.family(session, user_id=user)

    found = run(work)

    def show_table() -> None:
        lines = [
            (
                safe(each.session_id),
                safe(each.user_id),
                each.status,
                f"{each.version:,}",
                safe(each.parent or ""),
                "" if each.at_version is None else f"{each.at_version:,}",
                "" if each.updated_at is None else moment(each.updated_at),
            )
            for each in found.members
        ]
        opts.output.table(("session", "user", "status", ">version", "forked from", ">at", "updated (UTC)"), lines)
        if found.cut:
            opts.output.say(f"There are more; these are the first {len(lines)}.", "dim")

    opts.output.result(FamilyShape.model_validate(found), show_table)


def _failing(row: SessionShape) -> str:
    assert row.failing_since is not None
    often = counted(row.failed_compactions, "compaction")
    return f"{row.session_id}: {often} failed in a row since {moment(row.failing_since)}; the last: {row.last_failure}"


async def _listed(
    ledger: MemoryLedger, wanted: _Wanted, limit: int, progress: Callable[[int, int], None]
) -> list[IndexedSession]:
    rows: list[IndexedSession] = []
    while len(rows) < limit:
        after = (rows[-1].updated_at, rows[-1].stream_id) if rows else None
        size = min(PAGE_SESSIONS, limit - len(rows))
        page = await ledger.list_sessions(**wanted, after=after, limit=size, progress=progress)
        rows += page
        if len(page) < size:
            break
    return rows


async def _as_of(ledger: MemoryLedger, listed: list[IndexedSession], at: str) -> list[IndexedSession]:
    then = timestamp(at)
    rows = []
    for row in listed:
        try:
            state = await ledger.get_state(row.session_id, at=then, user_id=row.user_id)
        except NotFound:
            continue  # it did not exist yet
        except Unreadable:
            rows.append(row)
        else:
            then_row = row_of(Stream.of("", row.session_id, row.user_id), state)
            rows.append(replace(then_row, forked_from=row.forked_from))
    return rows
