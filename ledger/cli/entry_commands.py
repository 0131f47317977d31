"""The commands ``transcript`` and ``entry show``, ``edit``, ``remove``, ``pop`` and ``restore``."""

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeAlias

import typer

from ledger.application.json_models.entry_json import EntryRecordShape, EntryShape, PoppedShape, TranscriptShape
from ledger.application.writing.tail import take_newest
from ledger.cli.app import app, command, entry, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, check_exists, entry_id_of, opened, when
from ledger.cli.file_source import read_bounded
from ledger.cli.output import STYLES, Output, moment, safe
from ledger.events.strict_json import BODY
from ledger.history.log_reads import EntryRecord
from ledger.memory import MemoryLedger
from ledger.results import Popped, Version
from projections.entries import Entry
from projections.prompts import label

EntryArgument: TypeAlias = Annotated[str, typer.Argument(metavar="ENTRY", help="An entry's id, or its version.")]


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
        for each in found:
            opts.output.say(f"{each.version:>6} {label(each)}", STYLES.get(each.role, ""))
            opts.output.say(each.content)

    shape = TranscriptShape(entries=tuple(EntryShape.model_validate(each) for each in found))
    opts.output.result(shape, show)


@command(entry)
def show(
    session: SessionArgument,
    entry: EntryArgument,
    version: Annotated[
        int | None, typer.Option("--version", help="As it was at this version, and why it was in the window or not.")
    ] = None,
    user: UserOption = None,
) -> None:
    """Show an entry, what became of it, and every change of it."""
    opts = options()

    async def work() -> EntryRecord:
        async with opened(opts) as ledger:
            name = await entry_id_of(ledger, session, entry, user)
            return await ledger.get_entry(session, name, version=version, user_id=user)

    found = run(work)
    opts.output.result(EntryRecordShape.model_validate(found), lambda: _print(opts.output, found))


@command(entry)
def edit(
    session: SessionArgument,
    entry: EntryArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The new content; - reads standard input.")],
    user: UserOption = None,
) -> None:
    """Replace the text of an entry in the window; the old text stays in its history."""
    content = read_bounded("-", limit=BODY.size).decode(errors="surrogateescape") if text == "-" else text
    _change(
        session, entry, user, "edited", lambda ledger, name: ledger.edit_entry(session, name, content, user_id=user)
    )


@command(entry)
def remove(session: SessionArgument, entry: EntryArgument, user: UserOption = None) -> None:
    """Remove an entry and the rest of its answer from the window; history stays."""
    _change(session, entry, user, "removed", lambda ledger, name: ledger.remove_entry(session, name, user_id=user))


@command(entry)
def pop(session: SessionArgument, user: UserOption = None) -> None:
    """Remove the newest entry of the transcript, compacted or not, and print it."""
    opts = options()

    async def work() -> Popped:
        async with opened(opts) as ledger:
            await check_exists(ledger, session, user)
            return await take_newest(ledger._handle, session, user_id=user)  # noqa: SLF001 - it tells the version

    found = run(work)

    def show_popped() -> None:
        if found.entry is None:
            opts.output.say(f"{session} has no entry")
        else:
            opts.output.say(f"entry {found.entry.entry_id} is removed; {session} is at version {found.version}", "bold")
            opts.output.say(found.entry.content)

    opts.output.result(PoppedShape.model_validate(found), show_popped)


@command(entry)
def restore(
    session: SessionArgument,
    entry: EntryArgument,
    version: Annotated[
        int | None, typer.Option("--version", help="As it was at this version of the session; by default, undo.")
    ] = None,
    user: UserOption = None,
) -> None:
    """Undo the newest edit of an entry, or bring one back that was removed or cleared."""
    _change(
        session,
        entry,
        user,
        "restored",
        lambda ledger, name: ledger.restore_entry(session, name, version=version, user_id=user),
    )


def _change(
    session: str,
    entry: str,
    user: str | None,
    done: str,
    change: Callable[[MemoryLedger, str], Awaitable[Version]],
) -> None:
    opts = options()

    async def work() -> tuple[str, int]:
        async with opened(opts) as ledger:
            name = await entry_id_of(ledger, session, entry, user)
            return name, int(await change(ledger, name))

    name, version = run(work)
    value = {"session_id": session, "entry_id": name, "version": version}
    opts.output.result(value, lambda: opts.output.say(f"entry {name} is {done}; {session} is at version {version}"))


def _print(output: Output, found: EntryRecord) -> None:
    by = f" by {', '.join(found.summary_ids)}" if found.summary_ids else ""
    output.say(f"{found.entry_id}, version {found.version}: {found.kind}, {found.role}, {found.status}{by}", "bold")
    output.say(found.content)
    if found.fate is not None:
        output.say(found.fate.sentence)
    for change in found.history:
        actor = f" by {change.actor}{' (claimed)' * change.actor_claimed}" if change.actor else ""
        output.say(f"{change.version:>6} {moment(change.recorded_at)}  {change.type}{actor}", "dim")
        if change.content != found.content:
            output.say(f"       {safe(change.content)}", "dim")
