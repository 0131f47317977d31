"""Groups of entries: answers, units, which are never split, and interactions. Source: R-GEN-7 … R-GEN-12."""

from collections.abc import Container, Iterable, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from projections.entries import Entry


class Unit(msgspec.Struct, frozen=True):
    """The smallest group that stays or leaves as a whole: an answer with the results of its calls, or one entry."""

    entries: tuple[Entry, ...]
    open: bool = False

    @property
    def first_version(self) -> int:
        """Version of its oldest entry; units are ordered by it."""
        return self.entries[0].version

    @property
    def last_version(self) -> int:
        """Version of its newest entry; with a late result, far from the first."""
        return self.entries[-1].version

    @property
    def tokens(self) -> int:
        """Sum of its entries' counts."""
        return sum(entry.tokens for entry in self.entries)


class Interaction(msgspec.Struct, frozen=True):
    """A user message and everything up to the next one, without pinned entries (R-GEN-11)."""

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
        """Tell whether *result* is for this call: by call id or, without one, by tool."""
        if result.tool_call_id is not None:
            return result.tool_call_id == self.tool_call_id
        return result.tool_name is not None and result.tool_name == self.tool_name


class AnswerRun(msgspec.Struct, frozen=True):
    """The answer that the newest entry is part of: whether it calls tools, has thinking, and waits for results.

    *spoken* counts the messages that stand alone so far, and are one answer with what follows if that calls a tool.
    """

    write_id: str
    calls: bool
    thinks: bool
    waits: bool
    spoken: int

    def after_batch(self) -> "AnswerRun":
        """Return it for a later batch: thinking there is another answer's, and what was counted stays counted."""
        return replace(self, write_id="", spoken=0) if self.write_id or self.spoken else self

    def goes_on_with(self, entry: Entry) -> bool:
        """Tell whether *entry*, the next one, is part of it: a call, or what is said beside calls or thinking.

        Thinking begins another answer, unless it is of the same write as thinking before.
        """
        if entry.thinks:
            return entry.answers and self.thinks and entry.write_id == self.write_id
        return entry.kind == "tool_call" or (entry.answers and (self.calls or self.thinks))


def answer_after(answer: AnswerRun | None, entry: Entry) -> AnswerRun | None:
    """Return the answer that *entry* is part of, the next one after *answer*; None if it is not the assistant's."""
    if not entry.answers:
        return answer if answer is not None and entry.of_server_tool else None
    calls = entry.kind == "tool_call"
    waits = calls and not entry.of_server_tool
    if answer is not None and answer.goes_on_with(entry):
        waits = waits or answer.waits
        thinks = entry.thinks or answer.thinks
        return AnswerRun(entry.write_id, calls or answer.calls, thinks, waits, 0 if calls or waits else 1)
    before = 0 if answer is None or entry.thinks else answer.spoken
    return AnswerRun(entry.write_id, calls, entry.thinks, waits, 0 if calls else before + 1)


def may_go_on(unit: "Unit") -> bool:
    """Tell whether more of the answer *unit* may come, if it is the newest: it has thinking, or says so.

    What follows would be nothing that a provider takes if its thinking had left. Source: R-GEN-8.
    """
    newest = unit.entries[-1]
    if not (newest.answers or newest.of_server_tool):
        return False
    return newest.facts.turn_goes_on or any(entry.thinks for entry in unit.entries)


class Pairing:
    """The units of *entries*, oldest first, independent of later entries. Source: R-GEN-8, R-GEN-9.

    *units* are in the order of their oldest entry. *closed_at* maps the version of a tool call to the version that
    closed it: that of its result, or of a user message before any result; the others are *open_calls*. No answer goes
    on at the versions *apart*.
    """

    def __init__(self, entries: Iterable[Entry], *, apart: Container[int] = ()) -> None:
        self.units: list[list[Entry]] = []
        self.closed_at: dict[int, int] = {}
        self._pair(entries, apart)

    def is_open(self, entries: Iterable[Entry], *, at: int) -> bool:
        """Tell whether one of *entries* is a call that was open at version *at*."""
        return any(entry.kind == "tool_call" and self.closed_at.get(entry.version, at + 1) > at for entry in entries)

    def _pair(self, entries: Iterable[Entry], apart: Container[int]) -> None:
        units = self.units
        waiting: list[tuple[Call, list[Entry]]] = []  # unanswered calls and their unit, oldest first
        answer: AnswerRun | None = None
        for entry in entries:
            if entry.version in apart:
                answer = None
            if entry.kind == "tool_result":
                answered = next((index for index, (call, _) in enumerate(waiting) if call.answered_by(entry)), None)
                if answered is not None:
                    call, home = waiting.pop(answered)
                    self.closed_at.setdefault(call.version, entry.version)
                    home.append(entry)
                    answer = answer_after(answer, entry)
                    continue
            elif entry.starts_interaction:
                for call, _ in waiting:  # abandoned (R-GEN-9); a late result still belongs to them
                    self.closed_at.setdefault(call.version, entry.version)
            if answer is not None and answer.goes_on_with(entry):
                first, *others = units[len(units) - max(1, answer.spoken) :]
                del units[len(units) - len(others) :]
                first += [*(member for unit in others for member in unit), entry]
            else:
                units.append([entry])
            answer = answer_after(answer, entry)
            if entry.kind == "tool_call":
                waiting.append((Call(entry.version, entry.tool_call_id, entry.tool_name), units[-1]))
        self.open_calls = {call.version for call, _ in waiting} - self.closed_at.keys()


def group_units(entries: Iterable[Entry], *, apart: Container[int] = ()) -> tuple[Unit, ...]:
    """Return *entries*, oldest first, as units ordered by their oldest entry. Source: R-GEN-8, R-GEN-9.

    At the versions *apart*, where something is left out before the entry, no answer goes on.
    """
    pairing = Pairing(entries, apart=apart)
    units = [tuple(unit) for unit in pairing.units]
    if not pairing.open_calls:
        return tuple(map(Unit, units))
    return tuple(Unit(unit, open=any(entry.version in pairing.open_calls for entry in unit)) for unit in units)


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
        members = tuple(sorted([entry for unit in units for entry in unit.entries], key=attrgetter("version")))
        closed = index < len(groups) - 1 or (members[-1].ends_turn and not any(unit.open for unit in units))
        interactions.append(Interaction(members, closed))
    return tuple(interactions)


def orphans(waiting: Sequence[Call], entries: Iterable[Entry]) -> set[int]:
    """Return the versions of tool results in *entries* that answer no call, neither *waiting* nor in *entries*."""
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
