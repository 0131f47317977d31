"""Whether code on an event loop keeps anybody waiting if it waits without letting the loop go on.

A loop that serves threads, one call of each, does nothing useful while its only call waits for the database. Waiting
without the loop then takes a fraction of the time.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

#: Asked before each short wait; false wherever nobody has set it.
keeps_nobody_waiting: Final[ContextVar[Callable[[], bool]]] = ContextVar("keeps_nobody_waiting", default=bool)
