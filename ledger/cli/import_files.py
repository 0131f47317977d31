"""The command ``import``."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from ledger.cli.app import Options, app, command, options, run
from ledger.cli.common_options import UserOption, opened
from ledger.cli.file_source import finished_lines, lines, spooled
from ledger.cli.import_report import (
    note_counts,
    placed,
    plain_notes,
    show_end,
    show_folders,
    show_imported,
    show_next,
    show_notes,
    show_reread,
    tell_more,
)
from ledger.cli.transcript_folder import FolderImport
from ledger.errors import InvalidInput, LedgerError
from ledger.formats.export.file_reader import is_ours
from ledger.formats.export.importing import Imported
from ledger.formats.importers import FORMATS, TranscriptFile, session_name_of
from ledger.memory import MemoryLedger


@command(app, "import")
def import_(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Transcripts or exports, gzip or not; folders of them; or -.")
    ],
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="The session's name, for a file that holds one.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help=f"Instead of by content: {', '.join(FORMATS)}.")
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with what is written to the files, until interrupted.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Read sessions anew that an older version read otherwise; the history keeps both."
        ),
    ] = False,
    user: UserOption = None,
) -> None:
    """Record transcripts of other systems, or copy exports; what exists already is skipped.

    The content determines the format. Each file is recorded in one transaction, or not at all. A bad file in a folder
    does not stop the others.
    """
    opts = options()
    if again and (watch or any(os.path.isdir(name) for name in files)):  # noqa: PTH112 - as below
        raise InvalidInput("bad_arguments", "takes files by name, no folder and no --watch", field="--again")
    if watch or any(os.path.isdir(name) for name in files):  # noqa: PTH112 - the name may be no path
        _import_folders(opts, files, session=session, form=form, watch=watch, user=user)
        return

    async def work() -> list[Imported]:
        imported: list[Imported] = []
        async with opened(opts) as ledger:
            with opts.output.progress("Importing", "sessions") as progress:
                for name in files:
                    try:
                        imported.append(await import_one(ledger, name, session, user, progress, form=form, again=again))
                    except LedgerError as fault:
                        raise placed(fault, name, len(imported), len(files), again=again) from None
        return imported

    done = run(work)
    names = [name for imported in done for name in imported.session_ids]
    counts = {name: sum(getattr(imported, name) for imported in done) for name in ("sessions", "entries", "skipped")}
    lines = sum((Counter(imported.other_lines) for imported in done), Counter[str]())
    notes = [note for imported in done for note in imported.notes]
    value = {**counts, "session_ids": names, "other_lines": dict(lines.most_common()), "notes": plain_notes(notes)}
    value["note_counts"] = note_counts(notes)
    value["reread"] = reread = [name for imported in done for name in imported.reread]

    def show() -> None:
        show_imported(opts.output, counts, lines, names)
        if again:
            show_reread(opts.output, reread)
        show_notes(opts.output, notes)
        show_next(opts, done, user)

    opts.output.result(value, show)


def _import_folders(
    opts: Options, places: Sequence[str], *, session: str | None, form: str | None, watch: bool, user: str | None
) -> None:
    """Import what is in folders, and with *watch* what is written there until interrupted.

    Raises:
        InvalidInput: a session name for a folder, standard input beside it, or a folder with nothing to import.
        typer.Exit: a file could not be imported.
    """
    if session is not None:
        raise InvalidInput("bad_arguments", "must not be given for a folder, or with --watch", field="--session")
    if "-" in places:
        raise InvalidInput("bad_arguments", "standard input cannot be imported with a folder or --watch", field="FILE")
    folders: FolderImport | None = None

    async def work() -> None:
        nonlocal folders
        async with opened(opts) as ledger:

            async def import_file(path: str, name: str) -> Imported:
                return await import_one(
                    ledger, path, None, user, lambda done, total: None, form=form, named=name, growing=True
                )

            folders = FolderImport(places, import_file)
            with opts.output.progress("Importing", "files") as progress:
                await folders.once(progress)
            if watch:
                show_folders(opts, folders, user)
                opts.output.tell("watching; Ctrl-C ends it", "dim")
                sys.stdout.flush()
                await folders.watch(lambda *news: tell_more(opts.output, *news))

    try:
        run(work)
    except KeyboardInterrupt:
        if not watch or folders is None:
            raise
    if folders is None:
        return
    if not folders.files and not folders.failed and not watch:
        raise InvalidInput("no_files", "is a folder without a .json, .jsonl, .ndjson or .traj file", field="FILE")
    if watch and not opts.output.json:
        show_end(opts.output, folders)
    else:
        show_folders(opts, folders, user)
    if folders.failed:
        raise typer.Exit(1)


async def import_one(
    ledger: MemoryLedger,
    name: str,
    session: str | None,
    user: str | None,
    progress: Callable[[int, int], None],
    *,
    form: str | None = None,
    named: str | None = None,
    growing: bool = False,
    again: bool = False,
) -> Imported:
    """Record file *name*, whose content determines its format unless *form* does; see `MemoryLedger.import_file`.

    Sessions without a name of their own are called *named*, or as the file. The last line of a *growing* file may be
    unfinished. What an older version read otherwise is read *again*.

    Raises:
        InvalidInput: *again*, and the file is an export.
    """
    with spooled(name) as spool:
        read = finished_lines if growing else lines
        if form is None and is_ours(next(lines(spool), b"")):
            if again:
                raise InvalidInput(
                    "bad_arguments", "is for transcripts: an export is copied event by event", field="--again"
                )
            return await ledger.import_file(lambda: lines(spool), session_id=session, user_id=user)
        found = TranscriptFile(
            lambda: read(spool), name=named or session_name_of(name), session_id=session, format=form
        )
        return await ledger.import_conversations(found, user_id=user, again=again, progress=progress)
