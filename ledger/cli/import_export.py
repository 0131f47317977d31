"""The commands ``import`` and ``export``."""

import errno
import os
import shlex
import stat
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from ledger.cli.app import Options, app, command, options, run
from ledger.cli.arguments import UserOption, opened
from ledger.cli.output import Output, counted, safe
from ledger.cli.source import finished_lines, in_file, lines, spooled
from ledger.cli.transcript_folder import FolderImport
from ledger.errors import ImportRefused, InvalidInput, LedgerError, SessionExists, StorageFull
from ledger.importers import FORMATS, TranscriptFile, session_name_of
from ledger.memory import MemoryLedger
from ledger.transfer.importing import Imported
from ledger.transfer.reader import is_ours


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
    user: UserOption = None,
) -> None:
    """Record transcripts of other systems, or copy exports; what exists already is skipped.

    The content determines the format. Each file is recorded in one transaction, or not at all. A bad file in a folder
    does not stop the others.
    """
    opts = options()
    if watch or any(os.path.isdir(name) for name in files):  # noqa: PTH112 - the name may be no path
        _import_folders(opts, files, session=session, form=form, watch=watch, user=user)
        return

    async def work() -> list[Imported]:
        imported: list[Imported] = []
        async with opened(opts) as ledger:
            with opts.output.progress("Importing", "sessions") as progress:
                for name in files:
                    try:
                        imported.append(await import_one(ledger, name, session, user, progress, form=form))
                    except LedgerError as fault:
                        raise placed(fault, name, len(imported), len(files)) from None
        return imported

    done = run(work)
    names = [name for imported in done for name in imported.session_ids]
    counts = {name: sum(getattr(imported, name) for imported in done) for name in ("sessions", "entries", "skipped")}
    lines = sum((Counter(imported.other_lines) for imported in done), Counter[str]())
    value = {**counts, "session_ids": names, "other_lines": dict(lines.most_common())}

    def show() -> None:
        _show_imported(opts.output, counts, lines, names)
        _show_next(opts, names, user)

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
                _show_folders(opts, folders, user)
                opts.output.tell("watching; Ctrl-C ends it", "dim")
                sys.stdout.flush()
                await folders.watch(lambda done, failed: _tell_more(opts.output, done, failed))

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
        _show_end(opts.output, folders)
    else:
        _show_folders(opts, folders, user)
    if folders.failed:
        raise typer.Exit(1)


def _show_end(output: Output, folders: FolderImport) -> None:
    counts, _, _ = folders.totals()
    output.say(f"\nstopped; {counted(counts['entries'], 'entry')} recorded")
    for message in _failures(folders.failed).values():
        output.say(f"not imported: {message}", "yellow")


def _show_folders(opts: Options, folders: FolderImport, user: str | None) -> None:
    output = opts.output
    counts, lines, names = folders.totals()
    failed = _failures(folders.failed)
    value = {
        **{name: counts[name] for name in ("sessions", "entries", "skipped")},
        "session_ids": names,
        "other_lines": dict(lines.most_common()),
        "files": folders.files,
        "no_transcripts": sorted(folders.others),
        "failed": [{"file": path, "message": message} for path, message in failed.items()],
    }

    def show() -> None:
        output.say(f"{counted(folders.files, 'file')} read")
        _show_imported(output, counts, lines, names)
        if folders.others:
            output.say(
                f"without a transcript: {', '.join(sorted(folders.others)[:5])}{_more(len(folders.others))}", "dim"
            )
        for message in failed.values():
            output.say(f"not imported: {message}", "yellow")
        _show_next(opts, names, user)

    output.result(value, show)


def _failures(failed: Mapping[str, LedgerError]) -> dict[str, str]:
    return {path: safe(_described(_in_place(fault, path), path)) for path, fault in failed.items()}


def _more(number: int) -> str:
    return f"  … and {number - 5} more" if number > 5 else ""


def _tell_more(output: Output, done: Sequence[Imported], failed: Mapping[str, LedgerError]) -> None:
    for imported in done:
        if imported.entries and output.json:
            output.line({"entries": imported.entries, "session_ids": imported.session_ids})
        elif imported.entries:
            output.say(f"{counted(imported.entries, 'entry')} more: {'  '.join(imported.session_ids)}")
    for path, message in _failures(failed).items():
        if output.json:
            output.line({"failed": {"file": path, "message": message}})
        else:
            output.say(f"not imported: {message}", "yellow")
    sys.stdout.flush()


def _show_imported(output: Output, counts: Mapping[str, int], lines: Counter[str], names: Sequence[str]) -> None:
    there = f"; {counts['skipped']:,} were there already" if counts["skipped"] else ""
    recorded = f"{counted(counts['entries'], 'entry')} of {counted(counts['sessions'], 'session')}"
    output.say(f"{recorded} recorded{there}")
    if lines:
        types = ", ".join(f"{name} {number:,}" for name, number in lines.most_common(6))
        output.say(f"{lines.total():,} of them are lines that no window shows: {types}", "dim")
    if names:
        output.say("  ".join(names[:5]) + _more(len(names)), "dim")


def _show_next(opts: Options, names: Sequence[str], user: str | None) -> None:
    if not names:
        return
    shown = next((name for name in reversed(names) if not {"#", "~"} & set(name)), names[0])
    space = f" --namespace {shlex.quote(opts.namespace)}" if opts.namespace else ""
    whose = f" --user {shlex.quote(user)}" if user else ""
    commands = [f"view {shlex.quote(shown)}{whose}", "search WORDS", f"sessions{whose}"]
    opts.output.say(f"next: {', '.join(f'memory-ledger {command}{space}' for command in commands)}")


def placed(fault: LedgerError, name: str, recorded: int = 0, files: int = 1) -> LedgerError:
    """Return *fault* with the file that it is about, and how many files were recorded before it."""
    found = _in_place(fault, name)
    suffix = f"; {recorded} of {files} files recorded, {files - recorded - 1} not tried" if files > 1 else ""
    found.args = (f"{_described(found, name)}{suffix}",)
    return found


def _in_place(fault: LedgerError, name: str) -> LedgerError:
    return in_file(fault, name) if isinstance(fault, ImportRefused) else fault


def _described(fault: LedgerError, name: str) -> str:
    advice = " with --session for this file alone, or for a file of several sessions another --namespace"
    prefix = "" if isinstance(fault, InvalidInput) else f"{name}: "
    return f"{prefix}{fault}{advice if isinstance(fault, SessionExists) else ''}"


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
) -> Imported:
    """Record file *name*, whose content determines its format unless *form* does; see `MemoryLedger.import_file`.

    Sessions without a name of their own are called *named*, or as the file. The last line of a *growing* file may be
    unfinished.
    """
    with spooled(name) as spool:
        read = finished_lines if growing else lines
        if form is None and is_ours(next(lines(spool), b"")):
            return await ledger.import_file(lambda: lines(spool), session_id=session, user_id=user)
        found = TranscriptFile(
            lambda: read(spool), name=named or session_name_of(name), session_id=session, format=form
        )
        return await ledger.import_conversations(found, user_id=user, progress=progress)


@command(app)
def export(
    session: Annotated[str | None, typer.Argument(metavar="SESSION", help="The session's id.")] = None,
    target: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="The file to write; - is standard output.")
    ] = "-",
    everything: Annotated[bool, typer.Option("--all", help="Export the whole namespace.")] = False,
    form: Annotated[
        Literal["log", "state"],
        typer.Option("--format", help="The events, provable and importable; or the state: entries, summaries, tokens."),
    ] = "log",
    user: UserOption = None,
) -> None:
    """Write a session, or all of them, to a file, which appears complete or not at all."""
    opts = options()
    if (session is None) != everything:
        raise InvalidInput("missing_field", "name a session, or give --all", field="SESSION")
    if everything and form == "state":
        raise InvalidInput("bad_format", "state works for one session only; leave --all out", field="--format")

    async def work() -> tuple[int, int]:
        async with opened(opts) as ledger:
            if form == "log":
                return await write_file(target, ledger.export_file(session, user_id=user))
            assert session is not None
            state = await ledger.export_session(session, user_id=user)
            return await write_file(target, _single(msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"))

    count, size = run(work)
    if target != "-":
        value = {"file": target, "lines": count, "bytes": size}
        opts.output.result(
            value, lambda: opts.output.say(f"{counted(count, 'line')}, {counted(size, 'byte')} in {target}")
        )


async def _single(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def write_file(target: str, chunks: AsyncIterator[bytes]) -> tuple[int, int]:
    """Write *chunks* to a temporary file, rename it to *target*, and return the number of chunks and bytes."""
    count = size = 0
    if target == "-":
        async for chunk in chunks:
            sys.stdout.buffer.write(chunk)
            count, size = count + 1, size + len(chunk)
        sys.stdout.buffer.flush()
        return count, size
    part = Path(f"{target}.{os.getpid()}.part")
    try:
        if not stat.S_ISREG(_mode(target)):
            kind = "a folder" if stat.S_ISDIR(_mode(target)) else "not a regular file; - is standard output"
            raise InvalidInput("no_file", f"is {kind}", field=target)
        with part.open("wb") as file:  # noqa: ASYNC230 - a command has nothing else to do
            async for chunk in chunks:
                file.write(chunk)
                count, size = count + 1, size + len(chunk)
            file.flush()
            os.fsync(file.fileno())
        part.rename(target)  # noqa: ASYNC240
    except OSError as fault:
        if fault.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StorageFull(f"{target} cannot be written: the disk is full") from fault
        raise InvalidInput("no_file", f"cannot be written: {os.strerror(fault.errno or 0)}", field=target) from fault
    finally:
        part.unlink(missing_ok=True)  # noqa: ASYNC240
    return count, size


def _mode(target: str) -> int:
    """Return the mode of *target*; the mode of a regular file if it does not exist."""
    try:
        return Path(target).stat().st_mode
    except FileNotFoundError:
        return stat.S_IFREG
