"""The runs of agents that events name: in the metadata of entries, or as keys of the space `runs` of kept values."""

from collections.abc import Iterable
from typing import Any

from ledger.errors import InvalidInput, LogCorrupted
from ledger.events import EntryAdded, KeptSet, StoredEvent
from ledger.events.codec import decode
from ledger.events.key_value_events import RUNS
from ledger.session.key_value_drafts import check_key

#: What the bytes of an event contain if it may name a run; the others are not decoded.
_MARKS = {EntryAdded.type: b'"run_id"', KeptSet.type: b'"%s"' % RUNS.encode()}


def runs_of(events: Iterable[StoredEvent]) -> dict[str, int]:
    """Return the ids of the runs that *events* name, each with the version of the first event that does.

    An id is text that may be the key of a kept value; anything else under its name is no run. What this release cannot
    read names none.
    """
    found: dict[str, int] = {}
    for event in events:
        mark = _MARKS.get(event.type)
        if mark is not None and (mark in event.structure or mark in (event.content or b"")):
            run_id = _run_of(event)
            if is_run_id(run_id):
                found.setdefault(run_id, event.version)
    return found


def is_run_id(value: object) -> bool:
    """Tell whether sessions can be found by *value*: text of 1 to 440 bytes without control characters."""
    try:
        check_key(value)
    except InvalidInput:
        return False
    return True


def _run_of(event: StoredEvent) -> Any:
    try:
        payload = decode(event).payload
    except LogCorrupted:
        return None
    match payload:
        case EntryAdded(metadata={"run_id": run_id}):
            return run_id
        case KeptSet(space=space, key=key) if space == RUNS:
            return key
        case _:
            return None
