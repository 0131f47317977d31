"""What the messages of reported calls do not say, or not all of: by the same rules as files. Source: adapters IN-20."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ledger.events import JsonObject, Role
from ledger.formats.importers.elements.steps import GUESSED, NO_RESULT, NOT_UNDERSTOOD, NOTE
from ledger.formats.importers.elements.unread import OpenCalls, checked
from ledger.formats.importers.opentelemetry.call_groups import combined, groups_of
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall
from ledger.session.entry_drafts import EntryDraft

_IN_MESSAGES: Final = frozenset({NOT_UNDERSTOOD, GUESSED})


def with_notes(call: ReportedCall) -> ReportedCall:
    """Return *call* with a note on each entry that does not show all that its message says."""
    instructions, shown, besides = (
        tuple(checked(entry) for entry in entries) for entries in (call.instructions, call.entries, call.besides)
    )
    return replace(call, instructions=instructions, entries=shown, besides=besides)


def notes_of(calls: Sequence[ReportedCall]) -> Iterator[tuple[str, str]]:
    """Yield the kind of each note about the messages of *calls*, which `with_notes` returned, and where it is.

    A message that several calls repeat has one, and a call whose result another call of its session shows has none. The
    place is a span, and the id of a call of a tool; it has no content.
    """
    seen: set[tuple[str, str]] = set()
    for call in calls:
        for entry in (*call.instructions, *call.entries, *call.besides):
            note: Any = (entry.get("metadata") or {}).get(NOTE)
            name = call.session_id, str(entry["entry_id"])
            if note is not None and note["kind"] in _IN_MESSAGES and name not in seen:
                seen.add(name)
                yield note["kind"], _span(entry)
    yield from _open_calls(call for call in calls if not call.of_agent)  # an agent's repeat those of its models


def _open_calls(calls: Iterable[ReportedCall]) -> Iterator[tuple[str, str]]:
    alone: dict[tuple[str, str], None] = {}  # each once, in the order in which they were found
    without: dict[tuple[str, str], str] = {}
    answered: set[tuple[str, str]] = set()
    for group in groups_of(calls):
        session, open_calls = group[0].session_id, OpenCalls()
        entries = [entry for entry in combined(group).entries if entry["kind"] in {"tool_call", "tool_result"}]
        for at, entry in enumerate(entries):
            alone.update({(each.kind, _place(entry)): None for each in open_calls.take([_without_place(entry)], at)})
        left = {each.line for each in open_calls.left()}
        for at, entry in enumerate(entries):
            name = session, str(entry.get("tool_call_id") or entry["entry_id"])
            if at in left:
                without[name] = _place(entry)
            elif entry["kind"] == "tool_call":
                answered.add(name)
    yield from alone
    yield from ((NO_RESULT, place) for name, place in without.items() if name not in answered)


def _without_place(entry: JsonObject) -> EntryDraft:
    """Return as much of the raw *entry* as `OpenCalls` looks at."""
    role: Role = "assistant" if entry["kind"] == "tool_call" else "tool"
    own, name = entry.get("tool_call_id"), entry.get("tool_name")
    return EntryDraft(kind=entry["kind"], role=role, content="", tool_call_id=own, tool_name=name)


def _place(entry: JsonObject) -> str:
    own = entry.get("tool_call_id")
    return f"{own[:100]} in {_span(entry)}" if own else _span(entry)


def _span(entry: JsonObject) -> str:
    return f"span {(entry.get('metadata') or {}).get('span_id') or 'without an id'}"
