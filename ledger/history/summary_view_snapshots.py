"""Snapshots of summary views; they need no events, because a state names results by version only."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from ledger.events import Ranges, RecordedEvent
from ledger.history.snapshot_form import SnapshotForm
from projections.records.summary_views import VIEWS, SummaryViews

_decode = msgspec.json.Decoder(SummaryViews).decode


def _load(stored: bytes) -> tuple[Ranges, Callable[[Iterable[RecordedEvent]], SummaryViews]]:
    views = _decode(stored)
    return (), lambda _: views


VIEW_STATES: Final = SnapshotForm(VIEWS, dump=msgspec.json.Encoder().encode, load=_load)
