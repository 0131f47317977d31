"""The fold of a session for long histories: entries that follow one another are added at once.

The result is that of `SESSION.fold` for every history, at a fraction of the time. An event that needs a look at other
entries, such as a late result of a tool or a compaction, goes through `evolve`.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from msgspec.structs import replace

from ledger.errors import LedgerError
from ledger.events import EntryAdded, RecordedEvent
from ledger.session.evolve import SESSION, evolve
from ledger.session.state import SessionState
from projections import window
from projections.compactions import Compactions
from projections.entries import Entry, added
from projections.entry_page import PagesMissing
from projections.items import Items, Numbering
from projections.projection import Projection
from projections.strategies import COMPACTIONS
from projections.tool_pairs import Call, answer_after

_AT_ONCE: Final = 1_000
#: Besides messages and tool results: kinds that are part of an item without forming one.
_OF_AN_ITEM: Final = frozenset({"tool_call", "context"})


class _InRuns(Projection[SessionState], frozen=True):
    def fold(self, events: Iterable[RecordedEvent], state: SessionState | None = None) -> SessionState:
        """Return *state*, or the initial one, after all *events* of one stream, oldest first."""
        folded, following = self.initial if state is None else state, iter(events)
        while page := list(islice(following, _AT_ONCE)):
            try:
                folded = self._folded(folded, page)
            except (LedgerError, PagesMissing):
                raise
            except Exception:  # noqa: BLE001 - the slow fold meets it again, and names the event
                folded = Projection.fold(self, page, folded)
        return folded

    def _folded(self, state: SessionState, page: Sequence[RecordedEvent]) -> SessionState:
        at = 0
        while at < len(page):
            if type(page[at].payload) is EntryAdded:
                state, at = _run(state, page, at)
            if at < len(page):
                state, at = self.evolve(state, page[at]), at + 1
        return state


#: `SESSION` with a faster fold.
SESSION_IN_RUNS: Final[Projection[SessionState]] = _InRuns(SESSION.name, SESSION.version, SESSION.initial, evolve)


def _run(state: SessionState, events: Sequence[RecordedEvent], at: int) -> tuple[SessionState, int]:
    """Return the state after the entries from index *at* on, and the index of the first event after the run."""
    if any(COMPACTIONS[strategy.type].progress for strategy in state.config.compactions):
        return state, at
    items, entries = _ItemsRun(state.items), list[Entry]()
    write_id, writes = state.write_id, state.writes
    for event in events[at:]:
        payload = event.payload
        if type(payload) is not EntryAdded or payload.extracted or payload.persisted_at is not None:
            break
        if payload.facts.window_not_known:
            break
        entry = added(event, payload)
        if not items.takes(entry):
            break
        if payload.write_id != write_id:
            write_id, writes = payload.write_id, writes + 1
            items.end_batch()
        items.add(entry)
        entries.append(entry)
    if not entries:
        return state, at
    last, working, running = events[at + len(entries) - 1], state.working, state.compactions
    if working.ttl_seconds is not None:
        working = replace(working, touched_us=last.recorded_us)
    after = SessionState(
        last.version,
        write_id,
        state.opened,
        state.cleared_version,
        state.life,
        state.began,
        state.created_us,
        last.recorded_us,
        state.config,
        window.with_entries(state.window, entries),
        state.summaries,
        Compactions(running.in_flight, running.failures, running.watermarks, running.entries + len(entries)),
        items.result(),
        replace(state.counts, added=state.counts.added + len(entries)),
        state.progress,
        working,
        writes,
        state.rebuild,
    )
    return after, at + len(entries)


class _ItemsRun:
    """`items.add_entry` for entries that leave the strays as they are, and `items.end_batch`."""

    def __init__(self, before: Items) -> None:
        self._before = before
        self._waiting = before.waiting
        self._open_calls = sum(not call.abandoned for call in before.waiting)
        self._closed, self._counted = before.closed, before.counted
        self._first = not before.interactions.starts
        self._newest = before.messages.starts.last if before.messages.starts else 0
        self._answer = before.answer
        self._interactions: list[int] = []
        self._messages: list[int] = []

    def takes(self, entry: Entry) -> bool:
        """Tell whether *entry* belongs to no older item, and completes none that has an open call."""
        kind = entry.kind
        if self._goes_on(entry) and len(self._messages) < self._spoken:
            return False
        if kind == "message":
            unsettled = self._open_calls and entry.role != "user"
            return entry.role != "system" and not unsettled and not self._before.messages.strays
        if kind == "tool_result":
            call = self._call_of(entry)
            return call is None or (not call.abandoned and call.version >= self._newest)
        return kind in _OF_AN_ITEM

    def add(self, entry: Entry) -> None:
        """Add *entry*, which `takes` allowed."""
        kind, version = entry.kind, entry.version
        starts = kind == "message" and entry.role == "user"
        if self._spoken and self._goes_on(entry):
            del self._messages[-self._spoken :]
            self._newest = self._messages[-1] if self._messages else self._before.messages.starts.last
        self._answer = answer_after(self._answer, entry)
        if kind == "tool_call":
            self._waiting = (*self._waiting, Call(version, entry.tool_call_id, entry.tool_name))
            self._open_calls += 1
        elif kind == "tool_result":
            self._waiting = tuple(call for call in self._waiting if call is not self._call_of(entry))
            self._open_calls = sum(not call.abandoned for call in self._waiting)
        elif starts and self._open_calls:
            self._waiting = tuple(replace(call, abandoned=True) for call in self._waiting)
            self._open_calls = 0
        if starts or self._first:
            self._interactions.append(version)
            self._first = self._counted = False
        if not self._newest:
            self._newest = version
            self._messages.append(version)
        if kind == "message":
            self._newest = version + 1
            self._messages.append(version + 1)
        self._closed = not self._open_calls and entry.ends_turn

    def end_batch(self) -> None:
        """Count the last interaction if the batch closed it."""
        self._counted = self._counted or self._closed
        self._answer = self._answer and self._answer.after_batch()

    def result(self) -> Items:
        """Return the items after the entries."""
        interactions = _with_starts(self._before.interactions, self._interactions)
        messages = _with_starts(self._before.messages, self._messages)
        return Items(interactions, messages, self._waiting, self._closed, self._counted, self._answer)

    @property
    def _spoken(self) -> int:
        return self._answer.spoken if self._answer else 0

    def _goes_on(self, entry: Entry) -> bool:
        return self._answer is not None and self._answer.goes_on_with(entry)

    def _call_of(self, result: Entry) -> Call | None:
        return next((call for call in self._waiting if call.answered_by(result)), None)


def _with_starts(numbering: Numbering, starts: Iterable[int]) -> Numbering:
    return Numbering(numbering.starts.extend(starts), numbering.dropped, numbering.strays)
