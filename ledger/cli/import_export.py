"""The commands ``import`` and ``export``."""

import errno
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.arguments import UserOption, opened
from ledger.cli.output import counted
from ledger.cli.source import in_file, lines, spooled
from ledger.errors import ImportRefused, InvalidInput, LedgerError, SessionExists, StorageFull
from ledger.importers import TranscriptFile, session_name_of
from ledger.memory import MemoryLedger
from ledger.transfer.importing import Imported
from ledger.transfer.reader import is_ours


@command(app, "import")
def import_(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Transcripts or exports, gzip or not; or -.")],
    session: Annotated[
        str | None, typer.Option("--session", metavar="NAME", help="The session's name, for a file that holds one.")
    ] = None,
    user: UserOption = None,
) -> None:
    """Record transcripts of other systems, or copy exports; what exists already is skipped.

    The content determines the format. Each file is recorded in one transaction, or not at all.
    """
    opts = options()

    async def work() -> list[Imported]:
        imported: list[Imported] = []
        async with opened(opts) as ledger:
            with opts.output.progress("Importing", "sessions") as progress:
                for name in files:
                    try:
                        imported.append(await import_one(ledger, name, session, user, progress))
                    except LedgerError as fault:
                        raise placed(fault, name, len(imported), len(files)) from None
        return imported

    done = run(work)
    names = [name for imported in done for name in imported.session_ids]
    counts = {name: sum(getattr(imported, name) for imported in done) for name in ("sessions", "entries", "skipped")}

    def show() -> None:
        there = f"; {counts['skipped']:,} were there already" if counts["skipped"] else ""
        recorded = f"{counted(counts['entries'], 'entry')} of {counted(counts['sessions'], 'session')}"
        opts.output.say(f"{recorded} recorded{there}")
        opts.output.say("  ".join(names[:5]) + (f"  … and {len(names) - 5} more" if len(names) > 5 else ""), "dim")

    opts.output.result({**counts, "session_ids": names}, show)


def placed(fault: LedgerError, name: str, recorded: int = 0, files: int = 1) -> LedgerError:
    """Return *fault* with the file that it is about, and how many files were recorded before it."""
    found = in_file(fault, name) if isinstance(fault, ImportRefused) else fault
    prefix = "" if isinstance(found, InvalidInput) else f"{name}: "
    if isinstance(found, SessionExists):
        found.args = (f"{found} with --session, or for a file of several sessions another --namespace",)
    suffix = f"; {recorded} of {files} files recorded, {files - recorded - 1} not tried" if files > 1 else ""
    found.args = (f"{prefix}{found}{suffix}",)
    return found


async def import_one(
    ledger: MemoryLedger, name: str, session: str | None, user: str | None, progress: Callable[[int, int], None]
) -> Imported:
    """Record file *name*, whose content determines its format; see `MemoryLedger.import_file`."""
    with spooled(name) as spool:
        if is_ours(next(lines(spool), b"")):
            return await ledger.import_file(lambda: lines(spool), session_id=session, user_id=user)
        found = TranscriptFile(lambda: lines(spool), name=session_name_of(name), session_id=session)
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
