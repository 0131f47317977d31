"""The command ``memory-ledger``; what is imported here, ``--help`` waits for."""

from __future__ import annotations

import gc
import os
import sys
from io import TextIOWrapper

import ledger
from ledger.cli.commands import help_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Final, NoReturn

__all__ = ["main"]

REFUSED: Final = 2
INTERRUPTED: Final = 130
TERMINATED: Final = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM came: it ends a command as Ctrl-C does."""


def exit_code_of(interruption: KeyboardInterrupt) -> int:
    """Return the exit code of a command that was interrupted."""
    return TERMINATED if isinstance(interruption, Terminated) else INTERRUPTED


def main() -> None:
    """Run the command line; it may be interrupted while it is still being loaded."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an output may know fewer characters than people use
    match sys.argv[1:]:
        case [] | ["-h" | "--help"] as arguments:
            _answer(help_text(), 0 if arguments else REFUSED)
        case ["--version"]:
            _answer(f"{ledger.__version__}\n", 0)
        case _:
            _run()


def _answer(text: str, code: int) -> NoReturn:
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:  # whoever read it has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run() -> None:
    import signal  # noqa: PLC0415 - the help needs none

    signal.signal(signal.SIGTERM, _terminate)
    try:
        gc.disable()  # while all is loaded that stays, there is nothing to collect
        from ledger.cli.app import app  # noqa: PLC0415 - loads Typer

        gc.freeze()
        gc.enable()
        app()
    except KeyboardInterrupt as interruption:
        sys.exit(exit_code_of(interruption))


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
