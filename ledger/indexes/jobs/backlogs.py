"""Snapshots of backlogs; they need no events, because a backlog names messages by version only."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from ledger.events import Ranges, RecordedEvent
from ledger.history.snapshot_form import SnapshotForm
from projections.log.backlog import BACKLOG, Backlog

_decode = msgspec.json.Decoder(Backlog).decode


def _load(stored: bytes) -> tuple[Ranges, Callable[[Iterable[RecordedEvent]], Backlog]]:
    backlog = _decode(stored)
    return (), lambda _: backlog


BACKLOGS: Final = SnapshotForm(
    BACKLOG,
    dump=msgspec.json.Encoder().encode,
    load=_load,
)
