"""A window as a model or a program gets it: text, chat messages, or the rolling shape. Stored entries never change.

Source: R-WIN-3, R-GEN-5, R-000-12, R-001-8.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ledger.canonical import canonical_json
from ledger.events import JsonObject
from projections.entries import Entry
from projections.prompts import SUMMARY_HEADER, label, transcript
from projections.summaries import Summary
from projections.transcript import group_interactions, group_units
from projections.window import Window

_SUMMARIES = "=== Previous Conversation Summaries ==="
_CONVERSATION = "=== Recent Conversation ==="


def context_text(window: Window, *, conversation_first: bool = False) -> str:
    """Return summaries and conversation under their headers; an empty section is left out. Source: R-000-12."""
    sections = []
    if window.summaries:
        summaries = (f"{_days(summary)}{summary.text}" for summary in window.summaries)
        sections.append(f"{_SUMMARIES}\n" + "\n\n".join(summaries))
    if window.entries:
        sections.append(f"{_CONVERSATION}\n{transcript(window.entries)}")
    return "\n\n".join(reversed(sections) if conversation_first else sections)


def chat_messages(window: Window, *, summary_role: str = "user") -> list[JsonObject]:
    """Return the window as OpenAI chat messages, in its order.

    Calls of one unit become one assistant message, followed by their results; a call that never got a result
    becomes plain text, a result without its call context (R-WIN-3), so that any endpoint takes the list.
    """
    homes = {
        entry.version: unit.entries
        for unit in group_units(sorted(window.entries, key=_version))
        for entry in unit.entries
    }
    messages: list[JsonObject] = []
    done: set[int] = set()
    spoken: Entry | None = None  # the assistant's words right before, which may belong to the calls that follow
    for item in window.items:
        if isinstance(item, Summary):
            messages.append({"role": summary_role, "content": summary_as_message(item)})
            spoken = None
        elif item.version not in done:
            unit = homes[item.version]
            done.update(entry.version for entry in unit)
            made = list(_unit_messages(unit))
            if spoken is not None and spoken.write_id == item.write_id and "tool_calls" in made[0]:
                made[0]["content"] = messages.pop()["content"]
            messages.extend(made)
            spoken = item if item.kind == "message" and item.role == "assistant" else None
    return messages


def summary_as_message(summary: Summary) -> str:
    """Return the summary's text under the line that says what it is, unless it begins with it. Source: R-WIN-3."""
    return summary.text if summary.text.startswith(SUMMARY_HEADER) else f"{SUMMARY_HEADER}\n{summary.text}"


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


def _unit_messages(unit: tuple[Entry, ...]) -> Iterator[JsonObject]:
    calls = [entry for entry in unit if entry.kind == "tool_call"]
    results = [entry for entry in unit if entry.kind == "tool_result"]
    if not calls:
        for entry in unit:
            role, content = entry.role, entry.content
            if entry.kind == "tool_result":
                role, content = "system", f"{label(entry)}: {content}"
            yield {"role": role, "content": content}
        return
    answered = _match(calls, results)
    if answered:
        yield {
            "role": "assistant",
            "content": None,
            "tool_calls": [_tool_call(call) for call in calls if call.version in answered],
        }
    for call in calls:
        if call.version in answered:
            yield {"role": "tool", "tool_call_id": _call_id(call), "content": answered[call.version].content}
    for call in calls:  # after all results: endpoints refuse a message between a call and its result
        if call.version not in answered:
            yield {"role": "assistant", "content": f"{label(call)}: {call.content}"}


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


def _tool_call(call: Entry) -> JsonObject:
    arguments = canonical_json({} if call.arguments is None else call.arguments).decode()
    return {
        "id": _call_id(call),
        "type": "function",
        "function": {"name": call.tool_name, "arguments": arguments},
    }


def _call_id(call: Entry) -> str:
    return call.tool_call_id or f"call_{call.version}"


def _request_and_response(entries: Iterable[Entry]) -> JsonObject:
    said = {starts: list(group) for starts, group in groupby(entries, key=lambda entry: entry.starts_interaction)}
    requests, responses = said.get(True, []), [entry for entry in said.get(False, []) if entry.ends_turn]
    first = requests[0] if requests else None
    return {
        "userRequest": _whole(first),
        "aiResponse": _whole(responses[-1]) if responses else None,
        "ts": (first or said[False][0]).moment.isoformat(),
    }


def _whole(entry: Entry | None) -> Any:
    """Return the JSON an entry was given with, else its text."""
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
