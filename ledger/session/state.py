"""The state of a session, composed of the states of projections (style §2): what one knows of it at one version.

Its size depends on the active entries, never on the history. `evolve` folds it.
"""

from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from ledger.events import (
    to_datetime,
)
from projections.compactions import Compactions
from projections.items import Items
from projections.memory_config import config
from projections.memory_config.config import MemoryConfig
from projections.rebuilds import Rebuild
from projections.stats import Counts
from projections.strategies import WINDOWS
from projections.strategies.base import NO_HINTS
from projections.summaries import LiveSummaries
from projections.window import ActiveEntries
from projections.working_memory import WorkingMemory

DEFAULT_CONFIG = config.load({})


class SessionState(msgspec.Struct, frozen=True):
    """A session after its newest event; version 0 is a session without events."""

    version: int = 0
    write_id: str = ""
    opened: bool = False
    #: Version of the newest clear or opening: older entries are history only.
    cleared_version: int = 0
    #: Version of the newest opening, which identifies the life.
    life: int = 0
    #: Version at which the life began that a fork took over; without a fork it is `life`.
    began: int = 0
    created_us: int = 0
    updated_us: int = 0
    config: MemoryConfig = DEFAULT_CONFIG
    window: ActiveEntries = ActiveEntries()
    summaries: LiveSummaries = LiveSummaries()
    compactions: Compactions = Compactions()
    items: Items = Items()
    counts: Counts = Counts()
    #: What strategies fold in addition, by key.
    progress: tuple[tuple[str, Any], ...] = ()
    working: WorkingMemory = WorkingMemory()
    #: Writes so far, in all lives: batches of events with one id.
    writes: int = 0
    #: The newest rebuild of this life.
    rebuild: Rebuild | None = None

    @property
    def created_at(self) -> datetime:
        """When the session was opened; the newest time if it ended in between."""
        return to_datetime(self.created_us)

    @property
    def updated_at(self) -> datetime:
        """When the newest change was stored; a recorded context is not a change."""
        return to_datetime(self.updated_us)

    def is_live(self, moment: datetime) -> bool:
        """Tell whether the session is open and has not expired at *moment*."""
        return self.opened and not self.has_expired(moment)

    def has_expired(self, moment: datetime) -> bool:
        """Tell whether the session has expired at *moment*: no event says so, the clock does."""
        expires_at = self.working.expires_at
        return self.opened and expires_at is not None and moment >= expires_at

    def as_expired(self) -> "SessionState":
        """Return the state as a clock that is ahead of every other one sees it."""
        return replace(self, working=replace(self.working, touched_us=0))

    def as_ended(self) -> "SessionState":
        """Return the state once its life is over: nothing is active, and marks of entries are still known."""
        return replace(self, opened=False, window=ActiveEntries(), working=WorkingMemory(flags=self.working.flags))

    def shown_tokens(self) -> int:
        """Return the tokens of what the window strategy shows, without retrieved items."""
        strategy = WINDOWS[self.config.window.type]
        own = self.config.effective(self.config.window)
        return strategy.tokens(self) if strategy.tokens else strategy.window(own, self, NO_HINTS).tokens

    def progress_of(self, key: str) -> Any:
        """Return what the strategy with *key* folded; None at first."""
        for own, folded in self.progress:
            if own == key:
                return folded
        return None
