"""What an agent of the OpenHands SDK sends: its events, and what condensations did to them. Source: adapters IN-23."""

from collections.abc import Iterable
from typing import Final

from ledger.events import JsonObject
from ledger.formats.importers.elements.steps import (
    HIDDEN,
    REWIND,
    UNKNOWN,
    Replaced,
    Rewound,
    Summarized,
    WindowChange,
    noted,
)

_CONDENSATIONS: Final = {"Condensation", "CondensationEvent"}
#: The parent of an event that begins anew.
_ROOT: Final = "__root__"


class OpenHandsView:
    """Follows what the agent sends: its events in order, with summaries of condensations, and their entries."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._shown: dict[str, tuple[str, ...]] = {}  # event id -> entry ids; of a summary none
        self._parents: dict[str, str | None] = {}
        self._newest: str | None = None

    def show(self, event_id: str, entries: Iterable[JsonObject]) -> None:
        """Add the *entries* of an event that are in the window."""
        ids = tuple(entry["entry_id"] for entry in entries if not (entry.get("metadata") or {}).get(HIDDEN))
        if ids:
            self._shown[event_id] = ids

    def take(self, event: JsonObject, entry: JsonObject, line: int) -> tuple[list[WindowChange], JsonObject]:
        """Return what *event* does to the window before its own entries, and its last *entry* with notes of it."""
        changes: list[WindowChange] = []
        given = event.get("parent_id")
        parent = None if given == _ROOT else given or self._newest
        if given is not None and parent != self._newest:
            change, entry = self._gone_back(parent, entry, line)
            changes += [change] if change is not None else []
        self._parents[event["id"]], self._newest = parent, event["id"]
        if event["kind"] in _CONDENSATIONS:
            change, entry = self._condensed(event, entry, line)
            changes += [change] if change is not None else []
        return changes, entry

    def _gone_back(self, parent: str | None, entry: JsonObject, line: int) -> tuple[WindowChange | None, JsonObject]:
        path, at = set[str](), parent
        while at is not None and at not in path:
            path.add(at)
            at = self._parents.get(at)
        left = {event_id for event_id in self._shown if event_id.removesuffix("-summary") not in path}
        entry = noted(entry, REWIND, "the conversation goes on from an earlier event", line)
        if any(not self._shown[event_id] for event_id in left):
            entry = noted(entry, UNKNOWN, "it goes on from before a condensation, which took events away", line)
        return self._without(left), entry

    def _without(self, left: set[str]) -> WindowChange | None:
        """Return how the events and summaries *left* leave the window."""
        gone = {event_id: ids for event_id, ids in self._shown.items() if event_id in left}
        self._shown = {event_id: ids for event_id, ids in self._shown.items() if event_id not in left}
        if not all(gone.values()):
            return Replaced(self._entries())
        return Rewound(tuple(each for ids in gone.values() for each in ids)) if gone else None

    def _entries(self) -> frozenset[str]:
        return frozenset(each for ids in self._shown.values() for each in ids)

    def _condensed(self, event: JsonObject, entry: JsonObject, line: int) -> tuple[WindowChange | None, JsonObject]:
        """Return what a condensation does, and its *entry*; a summary without a place is in no request."""
        forgotten = set(event.get("forgotten_event_ids") or ())
        without = self._without(forgotten)
        text, offset = event.get("summary"), event.get("summary_offset")
        if not (isinstance(text, str) and text.strip() and isinstance(offset, int)):
            return without, entry
        if any(not ids for ids in self._shown.values()):
            entry = noted(entry, UNKNOWN, "the summary of an earlier condensation stays beside this one", line)
        events = list(self._shown.items())
        after = next((ids[0] for _, ids in events[offset:] if ids), "")
        self._shown = dict([*events[:offset], (f"{event['id']}-summary", ()), *events[offset:]])
        summary = f"summary-{self._session_id}-{event['id']}"[-100:].lstrip("-")
        return Summarized(summary, text, self._entries(), "first" if after else "last", after), entry
