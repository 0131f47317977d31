"""When a model was called, and which tool results belong to which calls. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby

from ledger.events import EntryAdded, RecordedEvent, SessionCleared
from projections.entries import Entry, added
from projections.tool_pairs import Call


def asked_at(events: Sequence[RecordedEvent]) -> frozenset[int]:
    """Return the versions at which a model was called: the last entry before each answer.

    These are before each batch of the assistant, and after each user message, also without an answer.
    """
    calls: set[int] = set()
    before: int | None = None
    for _, batch in groupby(events, key=lambda event: event.payload.write_id):
        entries = [(event.version, event.payload) for event in batch if isinstance(event.payload, EntryAdded)]
        if not entries:
            continue
        if entries[0][1].role == "assistant" and before is not None:
            calls.add(before)
        before = entries[-1][0]
        if any(payload.kind == "message" and payload.role == "user" for _, payload in entries):
            calls.add(before)
    return frozenset(calls)


def tool_pairs(events: Sequence[RecordedEvent]) -> tuple[tuple[int, int], ...]:
    """Return the versions of each tool call and its result.

    A result after the next user message does not count: its call may have left the window by then (R-GEN-9).
    """
    pairs: list[tuple[int, int]] = []
    waiting: list[Call] = []
    for event in events:
        if isinstance(event.payload, SessionCleared):
            waiting.clear()
        if not isinstance(event.payload, EntryAdded):
            continue
        entry = added(event, event.payload)
        if entry.kind == "tool_call":
            waiting.append(Call(entry.version, entry.tool_call_id, entry.tool_name))
        elif entry.kind == "tool_result":
            _answer(waiting, entry, pairs)
        elif entry.starts_interaction:
            waiting.clear()
    return tuple(pairs)


def _answer(waiting: list[Call], result: Entry, pairs: list[tuple[int, int]]) -> None:
    call = next((call for call in waiting if call.answered_by(result)), None)
    if call is not None:
        waiting.remove(call)
        pairs.append((call.version, result.version))


def partners(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the version of the result by that of its call, and the other way round."""
    return {one: other for call, result in pairs for one, other in ((call, result), (result, call))}


def split_pairs(partners: Mapping[int, int], shown: Collection[int], until: int) -> int:
    """Return how many pairs, complete at version *until*, are *shown* only in part."""
    return sum(
        partner <= until and partner not in shown for version in shown if (partner := partners.get(version)) is not None
    )
