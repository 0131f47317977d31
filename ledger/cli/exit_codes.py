"""The exit codes of a command that was refused or interrupted. Imports here delay ``--help``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

REFUSED: Final = 2
INTERRUPTED: Final = 130
TERMINATED: Final = 143


class Terminated(KeyboardInterrupt):
    """A SIGTERM, which ends a command as Ctrl-C does."""


def exit_code_of(interruption: KeyboardInterrupt) -> int:
    """Return the exit code of a command that was interrupted."""
    return TERMINATED if isinstance(interruption, Terminated) else INTERRUPTED
