"""OpenHands event streams: JSONL of runs with a ``history``, or JSONL of events.

A condensation takes events out of what the model gets, and its summary stands where the oldest of them was.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    conversation,
    entry_id_of,
    moment,
    shaped,
    text_of,
    with_leftovers,
)
from ledger.formats.importers.elements.steps import (
    EMPTY,
    HIDDEN,
    UNKNOWN,
    Rewound,
    Summarized,
    WindowChange,
    hidden,
    noted,
)

FORMAT: Final = "openhands"
_KNOWN: Final = {"id", "timestamp", "source", "cause"}
_CONDENSING: Final = {"condensation", "condensation_request"}
#: Events that the program keeps from the agent.
_HIDDEN: Final = {"null", "change_agent_state", "agent_state_changed"}
_DELEGATE: Final = "delegate"
_SPEAKING: Final = {"message", "finish", "reject", "system"}


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document is an event, or a run with a history of events."""
    value = found[0].value
    return _is_event(value) or (isinstance(value, dict) and _is_history(value.get("history")))


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield one conversation for each run; lines that are single events make one conversation."""
    first = next(found)
    if _is_event(first.value):
        events = ((document.line, document.value) for document in chain([first], found))
        yield conversation(FORMAT, name, _messages(events, name))
        return
    for document in chain([first], found):
        value = document.value
        if not isinstance(value, dict) or not _is_history(value.get("history")):
            raise ImportRefused("bad_shape", "the run has no history of events", line=document.line)
        about = {key: field for key, field in value.items() if key != "history" and field is not None}
        session_id = str(value.get("instance_id") or name)
        of_run = zip(repeat(document.line), value["history"])
        yield conversation(FORMAT, session_id, _messages(of_run, session_id), about=about)


def _messages(
    events: Iterable[tuple[int, Any]], session_id: str
) -> Iterator[tuple[int, list[JsonObject] | WindowChange]]:
    active: dict[str, Any] = {}  # entry id -> event id
    calls: dict[Any, tuple[str, str]] = {}  # event id -> call id and tool of the action
    delegated: list[tuple[str, ...]] = []  # for each delegation that goes on, the entries at its beginning
    for number, (line, event) in enumerate(events):
        where = f"{session_id}, event {number}"
        if not _is_event(event):
            raise ImportRefused("bad_shape", f"{where} must be an action or an observation", line=line)
        change: WindowChange | None = None
        with shaped(where, line=line):
            if event.get("action") in _CONDENSING:
                change, entries = _condensed(event, active, session_id, line)
            else:
                entries = _action_entries(event, calls) if event.get("action") else [_observation_entry(event, calls)]
            if _is_hidden(event):
                entries = [hidden(entry, _type_of(event)) for entry in entries]
            if event.get("observation") == _DELEGATE and delegated:  # what the other agent did is not sent
                gone = tuple(active.keys() - set(delegated.pop()))
                change = Rewound(tuple(each for each in active if each in gone))
                active = {each: of for each, of in active.items() if each not in gone}
        for entry in entries:
            entry["created_at"] = moment(event.get("timestamp"))
        entries[-1] = with_leftovers(
            entries[-1],
            event,
            _KNOWN if event.get("action") else {*_KNOWN, "content"},
            original_id=event.get("id"),
            original_timestamp=event.get("timestamp"),
            cause=event.get("cause"),
            source_of_event=event.get("source"),
        )
        for part, entry in enumerate(entries):
            entry["entry_id"] = entry_id_of(session_id, [number, part], entry)
            if not (entry.get("metadata") or {}).get(HIDDEN):
                active[entry["entry_id"]] = event.get("id")
        if event.get("action") == _DELEGATE:
            delegated.append(tuple(active))
        if change is not None:
            yield line, change
        yield line, entries


def _condensed(
    event: JsonObject, active: dict[str, Any], session_id: str, line: int
) -> tuple[WindowChange | None, list[JsonObject]]:
    """Return what a condensation takes out of *active*, and the hidden entry of its event."""
    arguments, kind = event.get("args") or {}, event["action"]
    entry = hidden({"kind": "context", "content": f"[{kind}]"}, kind)
    if kind != "condensation":
        return None, [entry]
    named, first, last = (
        arguments.get(f"forgotten_{name}") for name in ("event_ids", "events_start_id", "events_end_id")
    )
    forgotten = set(named or ())
    if isinstance(first, int) and isinstance(last, int):
        forgotten |= {each for each in active.values() if isinstance(each, int) and first <= each <= last}
    elif not forgotten:
        entry = noted(
            entry, UNKNOWN, "a condensation does not say which events it took away; all are still shown", line
        )
    gone = tuple(entry_id for entry_id, event_id in active.items() if event_id in forgotten)
    for entry_id in gone:
        del active[entry_id]
    text = arguments.get("summary")
    if isinstance(text, str) and text.strip():
        summary = f"summary-{session_id}-{event.get('id')}"[-100:].lstrip("-")
        offset, events = arguments.get("summary_offset"), list(dict.fromkeys(active.values()))
        if not isinstance(offset, int):
            why = "a condensation does not say where its summary stands; it is shown where the first event was"
            entry = noted(entry, UNKNOWN, why, line)
            return Summarized(summary, text, frozenset(active), "covered"), [entry]
        if not 0 <= offset < len(events):
            return Summarized(summary, text, frozenset(active), "last"), [entry]
        follows = next(entry_id for entry_id, event_id in active.items() if event_id == events[offset])
        return Summarized(summary, text, frozenset(active), before=follows), [entry]
    return Rewound(gone) if gone else None, [entry]


def _type_of(event: JsonObject) -> str:
    return str(event.get("action") or event.get("observation"))


def _is_hidden(event: JsonObject) -> bool:
    """Tell whether the program does not show an event to the agent."""
    about = event.get("args") or event.get("extras") or {}
    return _type_of(event) in _HIDDEN or event.get("hidden") is True or about.get("hidden") is True


def _action_entries(event: JsonObject, calls: dict[Any, tuple[str, str]]) -> list[JsonObject]:
    """Return the message of an action, and its tool call."""
    action, arguments = event["action"], event.get("args") or {}
    if action in _SPEAKING:
        role = "system" if action == "system" else "user" if event.get("source") == "user" else "assistant"
        content = arguments.get("content") or arguments.get("final_thought") or event.get("message")
        text, whole = text_of(content)
        spoken: JsonObject = {"kind": "message", "role": role, "content": text if text.strip() else EMPTY}
        return [spoken if whole is None else {**spoken, "data": {"content": whole}}]
    meta = event.get("tool_call_metadata") or {}
    call_id = str(meta.get("tool_call_id") or f"event-{event.get('id')}")
    tool = str(meta.get("function_name") or action)
    calls[event.get("id")] = (call_id, tool)
    entries: list[JsonObject] = []
    thought = arguments.get("thought")
    if isinstance(thought, str) and thought.strip():
        entries.append({"kind": "message", "role": "assistant", "content": thought})
    entries.append(
        {
            "kind": "tool_call",
            "tool_name": tool,
            "tool_call_id": call_id,
            "arguments": {key: value for key, value in arguments.items() if key != "thought"},
        }
    )
    return entries


def _observation_entry(event: JsonObject, calls: dict[Any, tuple[str, str]]) -> JsonObject:
    """Return an observation as the result of the action that caused it, or as context."""
    text, whole = text_of(event.get("content"))
    observation = event["observation"]
    data = None if whole is None else {"content": whole}
    meta = event.get("tool_call_metadata") or {}
    caused = calls.get(event.get("cause")) or (
        (str(meta["tool_call_id"]), str(meta.get("function_name"))) if meta.get("tool_call_id") else None
    )
    if caused is None:
        content = text if text.strip() else str(event.get("message") or EMPTY)
        return {"kind": "context", "content": content, "data": data, "metadata": {"source": observation}}
    return {
        "kind": "tool_result",
        "tool_call_id": caused[0],
        "tool_name": caused[1],
        "content": text,
        "tool_status": _status(event),
        "data": data,
    }


def _status(event: JsonObject) -> str | None:
    code = ((event.get("extras") or {}).get("metadata") or {}).get("exit_code")
    if event["observation"] == "error" or event.get("success") is False or (isinstance(code, int) and code != 0):
        return "error"
    return "ok" if event.get("success") is True or code == 0 else None


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "source" in value
        and (isinstance(value.get("action"), str) or isinstance(value.get("observation"), str))
    )


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_event(event) for event in value[:3])


IMPORTER: Final = Importer(FORMAT, detects, read)
