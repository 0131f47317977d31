"""The command ``memory-ledger``. Imports here delay ``--help``."""

from __future__ import annotations

import gc
import os
import sys
from io import TextIOWrapper

from ledger.cli.command_table import help_text
from ledger.cli.exit_codes import REFUSED, Terminated, exit_code_of
from ledger.release import RELEASE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

__all__ = ["main"]


def main() -> None:
    """Run the command line; an interruption works even while it is loading."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # its encoding may lack characters
    if "_MEMORY_LEDGER_COMPLETE" in os.environ:  # a shell asks what could come next
        _run()
    match sys.argv[1:]:
        case [] | ["-h" | "--help"] as arguments:
            _answer(help_text(), 0 if arguments else REFUSED)
        case ["--version"]:
            _answer(f"{RELEASE}\n", 0)
        case _:
            _run()


def _answer(text: str, code: int) -> NoReturn:
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:  # the reader stopped reading
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run() -> None:
    import signal  # noqa: PLC0415 - not needed for the help

    signal.signal(signal.SIGTERM, _terminate)
    try:
        gc.disable()  # loading creates no garbage
        from ledger.cli.app import app  # noqa: PLC0415 - loads Typer

        gc.freeze()
        gc.enable()
        app()
    except KeyboardInterrupt as interruption:
        sys.exit(exit_code_of(interruption))


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
