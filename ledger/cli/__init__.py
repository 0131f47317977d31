"""The command ``memory-ledger``."""

import gc
import signal
import sys
from io import TextIOWrapper
from types import FrameType
from typing import Final, NoReturn

__all__ = ["main"]

INTERRUPTED: Final = 130
TERMINATED: Final = 143


class Terminated(KeyboardInterrupt):
    """SIGTERM came: it ends a command as Ctrl-C does."""


def exit_code_of(interruption: KeyboardInterrupt) -> int:
    """Return the exit code of a command that was interrupted."""
    return TERMINATED if isinstance(interruption, Terminated) else INTERRUPTED


def main() -> None:
    """Run the command line; it may be interrupted while it is still being loaded."""
    signal.signal(signal.SIGTERM, _terminate)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # an output may know fewer characters than people use
    try:
        gc.disable()  # while all is loaded that stays, there is nothing to collect
        from ledger.cli.commands import app  # noqa: PLC0415 - loads everything

        gc.freeze()
        gc.enable()
        app()
    except KeyboardInterrupt as interruption:
        sys.exit(exit_code_of(interruption))


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
