"""The command ``export``."""

import errno
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import UserOption, opened
from ledger.cli.output import counted
from ledger.errors import InvalidInput, StorageFull


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
