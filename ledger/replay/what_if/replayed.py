"""The end of a replay."""

from collections.abc import Mapping

import msgspec

from ledger.events import CompactionCompleted
from ledger.session.rebuild_commands import ReplayedCompaction
from ledger.session.state import SessionState
from projections.entries import Entry


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a replay: its state and the compactions that completed or failed."""

    state: SessionState
    completed: tuple[CompactionCompleted, ...] = ()
    failed: int = 0
    #: Those of the completed ones that came after the last clear.
    newest: tuple[ReplayedCompaction, ...] = ()
    #: The versions of the entries that were removed since the last clear.
    removed: frozenset[int] = frozenset()
    #: By version, oldest first: entries that were not cleared, erased or removed.
    entries: Mapping[int, Entry] = {}
