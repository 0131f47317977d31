"""The numbering of a conversation in items, as the rolling memory counts them. Source: R-001-1.

With unit ``interaction`` an item is a closed interaction; with unit ``entry`` it is a message with the tool and
context entries before it, and an answer that calls tools is one of these. Items are numbered from 1 after the last
clear, whatever leaves the window. The fold costs the same at any length: it stores only the version at which each item
starts, and the few *strays*: entries that belong to another item than the one around them.
"""

import sys
from bisect import bisect_right
from itertools import groupby
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ledger.events import CountedItems, Numbered, Ranges
from projections.entries import Entry
from projections.tool_pairs import AnswerRun, Call, answer_after, group_units
from projections.values import ranges
from projections.values.packed_versions import Versions
from projections.window import ActiveEntries

ItemUnit: TypeAlias = Literal["interaction", "entry"]

_FORMS_ITEM = frozenset({"message", "step_prompt", "step_result"})
_PENDING = 0  # home of a stray whose item does not exist yet


class Numbering(msgspec.Struct, frozen=True):
    """Items of one unit by the versions at which they start; the newest item may still grow.

    *dropped* items are counted but no longer stored. A stray is a pair: the version of the entry, and a version
    inside the item that it belongs to.
    """

    starts: Versions = Versions()
    dropped: int = 0
    strays: tuple[tuple[int, int], ...] = ()

    @property
    def started(self) -> int:
        """How many items have started, including dropped ones."""
        return self.dropped + len(self.starts)

    def first_version(self, number: int) -> int | None:
        """Return the version at which item *number*, from 1, starts, or None if it is not stored."""
        index = number - 1 - self.dropped
        return self.starts[index] if 0 <= index < len(self.starts) else None

    def members(self, window: ActiveEntries, first: int, last: int) -> tuple[Entry, ...]:
        """Return the active entries of items *first* to *last*, both included, in version order."""
        low = self.first_version(max(first, self.dropped + 1))
        if low is None or last <= self.dropped:
            return ()
        following = self.first_version(last + 1)
        high = sys.maxsize if following is None else following - 1  # the newest item includes pending entries
        if not self.strays:
            return tuple([entry for entry in window.within(((low, high),)) if not entry.pinned])
        away = {version for version, home in self.strays if not low <= _place(home) <= high}
        found = [entry for entry in window.within(((low, high),)) if not entry.pinned and entry.version not in away]
        for version, home in self.strays:
            if low <= _place(home) <= high and not low <= version <= high and (entry := window.at(version)):
                found.append(entry)
        return tuple(sorted(found, key=lambda entry: entry.version))

    def groups(self, window: ActiveEntries, first: int, last: int) -> list[tuple[Entry, ...]]:
        """Return the active entries of each of the items *first* to *last* that has any, oldest item first."""
        if self.strays:
            groups = (self.members(window, number, number) for number in range(first, last + 1))
            return [group for group in groups if group]
        stored = range(max(0, first - 1 - self.dropped), min(len(self.starts), last - self.dropped))
        starts = [self.starts[index] for index in stored]
        found = self.members(window, first, last)
        return [tuple(group) for _, group in groupby(found, key=lambda entry: bisect_right(starts, entry.version))]

    def start(self, version: int) -> "Numbering":
        """Return the numbering with a new item that starts at *version*."""
        return Numbering(self.starts.append(version), self.dropped, self.strays)

    def without_last(self, count: int) -> "Numbering":
        """Return the numbering whose newest *count* items are part of the one before them."""
        return replace(self, starts=self.starts.without_last(count)) if 0 < count < len(self.starts) else self

    def stray(self, version: int, home: int) -> "Numbering":
        """Return the numbering with the entry *version* as part of the item around *home*."""
        return replace(self, strays=(*self.strays, (version, dict(self.strays).get(home, home))))

    def forget(self, before: int) -> "Numbering":
        """Return the numbering without items that end before version *before*; the newest item stays."""
        count = self.starts.count_to(before) - 1
        if count <= 0:
            return self
        strays = tuple(pair for pair in self.strays if _place(pair[1]) >= self.starts[count])
        return Numbering(self.starts.without_first(count), self.dropped + count, strays)


class Items(msgspec.Struct, frozen=True):
    """Both numberings, and what is needed to continue them at the next entry."""

    interactions: Numbering = Numbering()
    #: The newest item here is not complete: its message is still missing.
    messages: Numbering = Numbering()
    #: Calls without result since the last clear that are still active, oldest first.
    waiting: tuple[Call, ...] = ()
    #: The last interaction is closed as of the newest entry …
    closed: bool = False
    #: … or was closed at the end of an earlier batch: once counted, an interaction stays counted.
    counted: bool = False
    #: What the newest entry is part of, if it is the assistant's.
    answer: AnswerRun | None = None

    def count(self, unit: ItemUnit) -> int:
        """Return n, the number of items of *unit* so far."""
        numbering = self.numbering(unit)
        started = numbering.dropped + len(numbering.starts)
        if unit == "entry" or not (self.closed or self.counted):
            return max(0, started - 1)
        return started

    def numbering(self, unit: ItemUnit) -> Numbering:
        """Return the items of *unit*."""
        return self.messages if unit == "entry" else self.interactions


def end_batch(items: Items) -> Items:
    """Return *items* with the last interaction counted if the batch closed it."""
    answer = items.answer and items.answer.after_batch()
    counted = items.counted or items.closed
    if answer is items.answer and counted == items.counted:
        return items
    return replace(items, counted=counted, answer=answer)


def continued(counted: CountedItems, window: ActiveEntries) -> Items:
    """Return what was counted elsewhere; its calls are those of *window*."""
    calls = ((window.at(version), abandoned) for version, abandoned in counted.waiting)
    answer = counted.answer
    return Items(
        _numbering(counted.interactions),
        _numbering(counted.messages),
        tuple(
            Call(call.version, call.tool_call_id, call.tool_name, abandoned)
            for call, abandoned in calls
            if call is not None
        ),
        counted.closed,
        counted.counted,
        AnswerRun("", answer.calls, answer.thinks, answer.waits, spoken=0) if answer else None,  # as after a batch
    )


def _numbering(counted: Numbered) -> Numbering:
    starts = sorted(start for start in counted.starts if start > 0)  # an event of another's file may claim anything
    return Numbering(Versions.of(starts), max(0, counted.dropped), counted.strays)


def add_entry(items: Items, entry: Entry, window: ActiveEntries) -> Items:
    """Return *items* with *entry*, the newest of *window*."""
    answer = answer_after(items.answer, entry)
    if entry.pinned:
        return replace(items, answer=answer)
    waiting, answered = items.waiting, None
    if entry.kind == "tool_call":
        waiting = (*waiting, Call(entry.version, entry.tool_call_id, entry.tool_name))
    elif waiting:
        waiting, answered = _answer(waiting, entry)
    interactions, closed, counted = items.interactions, items.closed, items.counted
    if answered is not None and answered.abandoned:
        interactions = interactions.stray(entry.version, answered.version)  # a late result (R-GEN-9)
    else:
        if entry.starts_interaction or not interactions.starts:
            interactions, counted = interactions.start(entry.version), False
        closed = entry.ends_turn and all(call.abandoned for call in waiting)
    messages = items.messages
    if items.answer is not None and items.answer.goes_on_with(entry):
        messages = messages.without_last(items.answer.spoken)
    completes = entry.kind in _FORMS_ITEM and (answer is None or not answer.waits)
    messages = _add_message(messages, entry, window, waiting, answered, completes=completes)
    return Items(interactions, messages, waiting, closed, counted, answer)


def forget(items: Items, *, removed: Ranges, before: int) -> Items:
    """Return *items* after the entries in *removed* left the window, without items that end before *before*."""
    waiting = tuple(call for call in items.waiting if not ranges.contains(removed, call.version))
    waits = items.answer is not None and items.answer.waits
    return replace(
        items,
        interactions=items.interactions.forget(before),
        messages=items.messages.forget(before),
        waiting=waiting,
        answer=None if waits and all(call.abandoned for call in waiting) else items.answer,
    )


def _answer(waiting: tuple[Call, ...], entry: Entry) -> tuple[tuple[Call, ...], Call | None]:
    """Return the calls that still wait after *entry*, and the call that it answers, if any."""
    if entry.starts_interaction:
        return tuple(replace(call, abandoned=True) for call in waiting), None
    if entry.kind == "tool_result":
        for index, call in enumerate(waiting):
            if call.answered_by(entry):
                return waiting[:index] + waiting[index + 1 :], call
    return waiting, None


def _add_message(
    messages: Numbering,
    entry: Entry,
    window: ActiveEntries,
    waiting: tuple[Call, ...],
    answered: Call | None,
    *,
    completes: bool,
) -> Numbering:
    if not messages.starts:
        messages = messages.start(entry.version)
    if not completes:
        placed = answered is not None and answered.version < messages.starts.last
        if answered is not None and placed and (answered.version, _PENDING) not in messages.strays:
            return messages.stray(entry.version, answered.version)
        return messages
    if messages.strays or any(not call.abandoned for call in waiting):
        messages = replace(messages, strays=_settle(messages, entry, window))
    return messages.start(entry.version + 1)


def _settle(messages: Numbering, entry: Entry, window: ActiveEntries) -> tuple[tuple[int, int], ...]:
    """Return the strays when the message *entry* completes an item: incomplete tool units become pending (R-001-1)."""
    low = messages.starts.last
    homes = dict(messages.strays)
    moved = [version for version, home in messages.strays if home == _PENDING]
    pending = window.within((*((version, version) for version in moved), (low, entry.version)))
    incomplete = {other.version for unit in group_units(pending) if unit.open for other in unit.entries}
    homes.update((version, entry.version) for version in moved)
    homes.update((version, _PENDING) for version in incomplete)
    return tuple(sorted(homes.items()))


def _place(home: int) -> int:
    return sys.maxsize if home == _PENDING else home
