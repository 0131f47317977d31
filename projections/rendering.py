"""Rendering of a window: as text, as chat messages, or in the rolling shape. Stored entries never change.

Source: R-WIN-3, R-GEN-5, R-000-12, R-001-8.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from projections.entries import HIDDEN, ONLY_REASONING, ONLY_THINKING, Entry
from projections.prompts import SUMMARY_HEADER, label, marked
from projections.summaries import Summary
from projections.tool_pairs import group_interactions, group_units
from projections.window import Knowledge, Window

_SUMMARIES = "=== Previous Conversation Summaries ==="
_KNOWLEDGE = "=== Knowledge ==="
_CONVERSATION = "=== Recent Conversation ==="
_GAP = "[…]"
#: The result of a call that has none: true of one that still runs, and of one that never ended.
NO_RESULT = "[no result: the call is still running, or was interrupted]"

#: What a line or message may come from.
Shown: TypeAlias = Summary | Entry | Knowledge


class ShownText(NamedTuple):
    """One or more whole lines of the text that a model is shown, and their source; headers have none."""

    text: str
    source: Shown | None = None


class ShownMessage(NamedTuple):
    """A chat message that a model is shown, and its sources: several tool calls are one message."""

    message: JsonObject
    sources: tuple[Shown, ...]


def context_text(window: Window, *, conversation_first: bool = False) -> str:
    """Return summaries, knowledge and conversation under their headers; an empty section is left out.

    A line ``[…]`` marks a gap before or after recalled entries.

    Source: R-000-12, R-REC-4, R-KB-2.
    """
    return "\n".join(piece.text for piece in context_pieces(window, conversation_first=conversation_first))


def context_pieces(window: Window, *, conversation_first: bool = False) -> list[ShownText]:
    """Return `context_text` in pieces, to be joined with line feeds, each with its source."""
    sections = []
    if window.summaries:
        shown = (ShownText(f"{_days(summary)}{summary.text}", summary) for summary in window.summaries)
        sections.append([ShownText(_SUMMARIES), *_spaced(shown)])
    if window.knowledge:
        sections.append([ShownText(_KNOWLEDGE), *_spaced(ShownText(piece.text, piece) for piece in window.knowledge)])
    if window.entries:
        gaps = window.gaps
        lines = [
            line
            for entry in window.entries
            for line in (
                *([ShownText(_GAP)] if entry.version in gaps else []),
                ShownText(f"{label(entry)}: {entry.content}", entry),
            )
        ]
        sections.append([ShownText(_CONVERSATION), *lines])
    if conversation_first:
        sections.reverse()
    return [piece for at, section in enumerate(sections) for piece in ([ShownText("")] if at else []) + section]


def _spaced(shown: Iterable[ShownText]) -> list[ShownText]:
    """Return *shown* with blank lines between."""
    return [piece for shown_text in shown for piece in (shown_text, ShownText(""))][:-1]


def chat_messages(window: Window) -> list[JsonObject]:
    """Return the window as OpenAI chat messages, in its order.

    What an answer says and calls becomes one assistant message, followed by the results; a call without one is
    followed by a result that says so. A result without its call becomes a user message (R-WIN-3). So any endpoint
    accepts the list.
    """
    return [shown.message for shown in shown_messages(window)]


def shown_messages(window: Window) -> list[ShownMessage]:
    """Return `chat_messages`, each with its sources; a gap, and the result that a call lacks, have none."""
    homes = {
        entry.version: unit.entries
        for unit in group_units(sorted(window.entries, key=_version), apart=window.apart)
        for entry in unit.entries
    }
    messages: list[ShownMessage] = []
    done: set[int] = set()
    gaps, known = window.gaps, _knowledge_place(window)
    for place, item in enumerate((*window.items, None)):
        if place == known:
            content = _knowledge_as_message(window)
            messages.append(ShownMessage({"role": "user", "content": content}, window.knowledge))
        if item is None:
            break
        if isinstance(item, Summary):
            messages.append(ShownMessage({"role": "user", "content": summary_as_message(item)}, (item,)))
        elif item.version not in done:
            unit = homes[item.version]
            done.update(entry.version for entry in unit)
            if item.version in gaps:
                messages.append(ShownMessage({"role": "user", "content": _GAP}, ()))
            messages.extend(_unit_messages(unit))
    return messages


def _knowledge_place(window: Window) -> int | None:
    """Return the index of the item before which knowledge is shown, or None if there is none. Source: R-KB-2."""
    if not window.knowledge:
        return None
    ahead = [
        place
        for place, item in enumerate(window.items)
        if isinstance(item, Summary) or (item.pinned and not window.summaries)
    ]
    return ahead[-1] + 1 if ahead else 0


def _knowledge_as_message(window: Window) -> str:
    pieces = "\n\n".join(piece.text for piece in window.knowledge)
    return marked(f"{_KNOWLEDGE}\n{pieces}")


def summary_as_message(summary: Summary) -> str:
    """Return the text of the summary under a header line, unless it begins with it. Source: R-WIN-3."""
    return summary.text if summary.text.startswith(SUMMARY_HEADER) else f"{SUMMARY_HEADER}\n{summary.text}"


def message_of(entry: Entry) -> JsonObject:
    """Return the entry as a chat message of its own.

    What files, tools and strangers wrote is a user message between two marked lines, never a system message, and so is
    a message of a role that chat APIs do not know (trust M-4).
    """
    if speaks(entry):
        return {"role": entry.role, "content": entry.content}
    return {"role": "user", "content": marked(f"{label(entry)}: {entry.content}")}


def says(entry: Entry) -> bool:
    """Tell whether the text of *entry* was said, and is no thinking and does not stand for it."""
    is_hidden = (entry.metadata or {}).get(HIDDEN) is True
    return not (entry.thinks and (is_hidden or entry.content in {ONLY_THINKING, ONLY_REASONING}))


def speaks(entry: Entry) -> bool:
    """Tell whether *entry* is shown in its own role: that of the user, the assistant, or, if pinned, the system."""
    if entry.role == "system":
        return entry.pinned
    return entry.role in {"user", "assistant"} and entry.kind not in {"context", "tool_result"}


def rolling_shape(window: Window) -> JsonObject:
    """Return the window in the shape of seed 001: interactions as request and response, summaries with ranges.

    Both lists are in the order of the window.

    Source: R-001-8.
    """
    places = {entry.version: place for place, entry in enumerate(window.entries)}
    interactions = sorted(
        group_interactions(sorted(window.entries, key=_version)),
        key=lambda interaction: min(places[entry.version] for entry in interaction.entries),
    )
    return {
        "interactions": [_request_and_response(interaction.entries) for interaction in interactions],
        "summaries": [_with_range(summary) for summary in window.summaries],
    }


def _unit_messages(unit: tuple[Entry, ...]) -> Iterator[ShownMessage]:
    for part in _parts_of_answer(unit):
        yield from _part_messages(part)


def _parts_of_answer(unit: tuple[Entry, ...]) -> list[tuple[Entry, ...]]:
    """Return *unit* in parts, of which each ends with the results of the provider's tools that the next one knows."""
    parts: list[list[Entry]] = [[]]
    for entry in unit:
        so_far = parts[-1]
        known = so_far and so_far[-1].kind == "tool_result" and so_far[-1].of_server_tool
        if known and entry.answers and all(call.of_server_tool for call in so_far if call.kind == "tool_call"):
            parts.append([])
        parts[-1].append(entry)
    return [tuple(part) for part in parts]


def _part_messages(unit: tuple[Entry, ...]) -> Iterator[ShownMessage]:
    first_call = next((at for at, entry in enumerate(unit) if entry.kind == "tool_call"), None)
    if first_call is None:
        for entry in unit:
            yield ShownMessage(message_of(entry), (entry,))
        return
    begin = next((at for at, entry in enumerate(unit) if entry.thinks), first_call)  # it goes back with the calls
    begin = max(0, min(begin, first_call - 1))
    for entry in unit[:begin]:
        yield ShownMessage(message_of(entry), (entry,))
    answer = [entry for entry in unit[begin:] if entry.kind != "tool_result"]
    calls = [entry for entry in answer if entry.kind == "tool_call"]
    answered = _match(calls, [entry for entry in unit if entry.kind == "tool_result"])
    ids = _call_ids(calls)
    answer_message = {
        "role": "assistant",
        "content": "\n\n".join(entry.content for entry in answer if entry.kind != "tool_call" and says(entry)) or None,
        "tool_calls": [_tool_call(call, ids[call.version]) for call in calls],
    }
    yield ShownMessage(answer_message, tuple(answer))
    for call in calls:
        result = answered.get(call.version)
        content = NO_RESULT if result is None else result.content
        message = {"role": "tool", "tool_call_id": ids[call.version], "content": content}
        yield ShownMessage(message, () if result is None else (result,))


def _match(calls: list[Entry], results: list[Entry]) -> dict[int, Entry]:
    """Return the result of each call that has one."""
    left = list(calls)
    answered: dict[int, Entry] = {}
    for result in results:
        for call in left:
            by_id = result.tool_call_id is not None and result.tool_call_id == call.tool_call_id
            if by_id or (result.tool_call_id is None and result.tool_name == call.tool_name):
                answered[call.version] = result
                left.remove(call)
                break
    return answered


def _tool_call(call: Entry, call_id: str) -> JsonObject:
    arguments = canonical_json({} if call.arguments is None else call.arguments).decode()
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": call.tool_name, "arguments": arguments},
    }


def _call_ids(calls: Iterable[Entry]) -> dict[int, str]:
    """Return the id of each call by its version, given or made; endpoints refuse one that a message repeats."""
    ids: dict[int, str] = {}
    for call in calls:
        own = call.tool_call_id or f"call_{call.version}"
        ids[call.version] = f"{own}_{call.version}" if own in ids.values() else own
    return ids


def _request_and_response(entries: Iterable[Entry]) -> JsonObject:
    by_role = {starts: list(group) for starts, group in groupby(entries, key=lambda entry: entry.starts_interaction)}
    requests, responses = by_role.get(True, []), [entry for entry in by_role.get(False, []) if entry.ends_turn]
    first = requests[0] if requests else None
    return {
        "userRequest": _whole(first),
        "aiResponse": _whole(responses[-1]) if responses else None,
        "ts": (first or by_role[False][0]).created_at.isoformat(),
    }


def _whole(entry: Entry | None) -> Any:
    """Return the JSON of an entry, or else its text."""
    if entry is None:
        return None
    return entry.content if entry.data is None else entry.data


def _with_range(summary: Summary) -> JsonObject:
    block = summary.block
    covered = (
        {}
        if block is None
        else {
            "startIndex": block.first_item,
            "endIndex": block.last_item,
            "startId": block.first_id,
            "endId": block.last_id,
        }
    )
    return {"range": covered, "text": summary.text, "ts": summary.created_at.isoformat()}


def _days(summary: Summary) -> str:
    if summary.starts_at is None or summary.ends_at is None:
        return ""
    return f"[{summary.starts_at:%Y-%m-%d} - {summary.ends_at:%Y-%m-%d}]\n"


def _version(entry: Entry) -> int:
    return entry.version
