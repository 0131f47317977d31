"""How entries belong together: units, which nothing may split, and interactions. Source: R-GEN-7 … R-GEN-12."""

from collections.abc import Iterable, Sequence

import msgspec

from projections.entries import Entry


class Unit(msgspec.Struct, frozen=True):
    """The smallest thing kept or removed: a run of tool calls with their results, or one other entry."""

    entries: tuple[Entry, ...]
    open: bool = False

    @property
    def first_version(self) -> int:
        """Version of its oldest entry; units are ordered by it."""
        return self.entries[0].version

    @property
    def last_version(self) -> int:
        """Version of its newest entry, which a late result may put far behind the first."""
        return self.entries[-1].version

    @property
    def tokens(self) -> int:
        """Sum of its entries' counts."""
        return sum(entry.tokens for entry in self.entries)


class Interaction(msgspec.Struct, frozen=True):
    """A user message and everything until the next one, pinned entries left out (R-GEN-11)."""

    entries: tuple[Entry, ...]
    closed: bool

    @property
    def tokens(self) -> int:
        """Sum of its entries' counts."""
        return sum(entry.tokens for entry in self.entries)


class Call(msgspec.Struct, frozen=True):
    """A tool call that waits for its result."""

    version: int
    tool_call_id: str | None
    tool_name: str | None
    abandoned: bool = False  # a user message came after it (R-GEN-9)

    def answered_by(self, result: Entry) -> bool:
        """Tell whether *result* is for this call: by call id or, without one, by tool (R-GEN-8)."""
        if result.tool_call_id is not None:
            return result.tool_call_id == self.tool_call_id
        return result.tool_name is not None and result.tool_name == self.tool_name


def group_units(entries: Iterable[Entry]) -> tuple[Unit, ...]:
    """Return *entries*, oldest first, as units ordered by their oldest entry. Source: R-GEN-8, R-GEN-9."""
    units: list[list[Entry]] = []
    waiting: list[tuple[Call, int]] = []  # unanswered calls and the index of their unit, oldest first
    run: int | None = None
    for entry in entries:
        if entry.kind == "tool_call":
            if run is None:
                units.append([])
                run = len(units) - 1
            units[run].append(entry)
            waiting.append((Call(entry.version, entry.tool_call_id, entry.tool_name), run))
            continue
        run = None
        if entry.kind == "tool_result":
            answered = next((index for index, (call, _) in enumerate(waiting) if call.answered_by(entry)), None)
            if answered is not None:
                _, home = waiting.pop(answered)
                units[home].append(entry)
                continue
        elif entry.starts_interaction:
            waiting = [(msgspec.structs.replace(call, abandoned=True), home) for call, home in waiting]
        units.append([entry])
    still_open = {home for call, home in waiting if not call.abandoned}
    return tuple(Unit(tuple(unit), open=index in still_open) for index, unit in enumerate(units))


def group_interactions(entries: Iterable[Entry]) -> tuple[Interaction, ...]:
    """Return *entries*, oldest first, as interactions, oldest first. Source: R-GEN-11, R-GEN-12.

    A late result is in the interaction of its call; only the last interaction may be open.
    """
    groups: list[list[Unit]] = []
    for unit in group_units(entries):
        if unit.entries[0].pinned:
            continue
        if unit.entries[0].starts_interaction or not groups:
            groups.append([])
        groups[-1].append(unit)
    interactions = []
    for index, units in enumerate(groups):
        members = tuple(sorted((entry for unit in units for entry in unit.entries), key=lambda entry: entry.version))
        closed = index < len(groups) - 1 or (members[-1].ends_turn and not any(unit.open for unit in units))
        interactions.append(Interaction(members, closed))
    return tuple(interactions)


def orphans(waiting: Sequence[Call], entries: Iterable[Entry]) -> set[int]:
    """Return the versions of the tool results among *entries* that answer no call, *waiting* or among them."""
    left = list(waiting)
    found = set()
    for entry in entries:
        if entry.kind == "tool_call":
            left.append(Call(entry.version, entry.tool_call_id, entry.tool_name))
        elif entry.kind == "tool_result":
            call = next((call for call in left if call.answered_by(entry)), None)
            if call is None:
                found.add(entry.version)
            else:
                left.remove(call)
    return found
