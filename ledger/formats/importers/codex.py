"""Codex rollouts (JSONL): items of the Responses API, compactions, and events around them. Source: adapters IN-5."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

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
    with_leftovers,
)
from ledger.formats.importers.elements.response_items import item_entry
from ledger.formats.importers.elements.steps import (
    HIDDEN,
    REWIND,
    UNKNOWN,
    Replaced,
    Rewound,
    Summarized,
    WindowChange,
    hidden,
    noted,
)

FORMAT: Final = "codex"
_LINE: Final = {"timestamp", "type", "payload"}
#: How messages begin that the program wrote in the user's name.
_CONTEXT: Final = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>")
#: How much of the user's words an older release kept, about: 20,000 tokens.
_LONGEST_SUMMARIZED: Final = 80_000


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document is the first line of a rollout: new ones have a type, old ones only id and time."""
    value = found[0].value
    if not isinstance(value, dict):
        return False
    if value.get("type") == "session_meta":
        return isinstance(value.get("payload"), dict)
    is_session_line = isinstance(value.get("id"), str) and isinstance(value.get("timestamp"), str)
    return is_session_line and not {"type", "role", "messages", "source", "sessionId"} & value.keys()


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the session of a file."""
    first = next(found)
    if not isinstance(first.value, dict):
        raise ImportRefused("bad_shape", "must begin with the session", line=first.line)
    meta = first.value.get("payload") if first.value.get("type") == "session_meta" else first.value
    session = meta.get("id") if isinstance(meta, dict) else None
    title = session if isinstance(session, str) and session else name
    yield conversation(FORMAT, title, _messages(chain([first], found), title))


def _messages(found: Iterable[Document], title: str) -> Iterator[tuple[int, list[JsonObject] | WindowChange]]:
    tools: dict[str, str] = {}
    window = _Window(title)
    turn: JsonObject = {}  # what the newest turn said of its model
    for number, document in enumerate(found):
        value, line = document.value, document.line
        with shaped(f"{title}, line {line}", line=line):
            if not isinstance(value, dict):
                raise ImportRefused("bad_shape", "a line must be an object", line=line)
            is_wrapped = isinstance(value.get("payload"), dict) and isinstance(value.get("type"), str)
            payload = value["payload"] if is_wrapped else value
            line_type = value["type"] if is_wrapped else "response_item" if number else "session_meta"
            change: WindowChange | None = None
            items: list[JsonObject] = []
            if line_type == "response_item" and isinstance(payload.get("type"), str):
                entry = item_entry(payload, tools)
                entry = with_leftovers(entry, {}, set(), model=turn.get("model"))
            elif line_type == "compacted":
                change, entry, items = window.compacted(payload, tools, line)
            else:
                if line_type == "turn_context":
                    turn = payload
                inner = payload.get("type") if line_type == "event_msg" else None
                named = f"{line_type}/{inner}" if isinstance(inner, str) else line_type
                usage = payload.get("info") if inner == "token_count" else None
                shown = {"kind": "context", "content": f"[{named}]", "data": {"payload": payload}}
                entry = with_leftovers(hidden(shown, named), {}, set(), usage=usage)
                if inner == "thread_rolled_back":
                    change, entry = window.rolled_back(payload, entry, line)
        entry["created_at"] = moment(value.get("timestamp"))
        if is_wrapped:
            entry = with_leftovers(entry, value, _LINE, original_timestamp=value.get("timestamp"))
        if change is not None:
            yield line, change
        for item in items:
            item["created_at"] = entry["created_at"]
        yield line, window.take([entry, *items], line)


class _Window:
    """Follows what the agent sent: the ids of its entries, and whether each is a message of the user."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._entries: list[tuple[str, bool, int]] = []  # with the number of its characters

    def take(self, entries: list[JsonObject], line: int) -> list[JsonObject]:
        """Return the *entries* of a line with ids that follow from it."""
        named = []
        for part, entry in enumerate(entries):
            entry_id = entry_id_of(self._title, [line, part], entry)
            named.append({**entry, "entry_id": entry_id})
            if not (entry.get("metadata") or {}).get(HIDDEN):
                text = str(entry.get("content") or "")
                spoken = entry["kind"] == "message" and entry.get("role") == "user"
                self._entries.append((entry_id, spoken and not text.lstrip().startswith(_CONTEXT), len(text)))
        return named

    def compacted(
        self, payload: JsonObject, tools: dict[str, str], line: int
    ) -> tuple[WindowChange | None, JsonObject, list[JsonObject]]:
        """Return what a compaction did to the window, the entry with what the line says, and the items of the window.

        An older release wrote only a summary: it kept the words of the user, and put the summary after them.
        """
        text, history = payload.get("message"), payload.get("replacement_history")
        rest = {key: item for key, item in payload.items() if key != "message"}
        entry = hidden({"kind": "context", "content": "[compacted]", "data": {"payload": rest}}, "compacted")
        if isinstance(history, list):
            items = [item_entry(item, tools) for item in history if isinstance(item.get("type"), str)]
            if len(items) < len(history):
                entry = noted(entry, UNKNOWN, "the history after a compaction has items without a type", line)
            if any("encrypted_content" in item and item.get("type") != "reasoning" for item in history):
                entry = noted(
                    entry, UNKNOWN, "a compaction stands in the window encrypted; only the agent's model reads it", line
                )
            self._entries = []
            return Replaced(), entry, items
        if not isinstance(text, str) or not text.strip():
            return (
                None,
                noted(entry, UNKNOWN, "a compaction says nothing of what it left; all is still shown", line),
                [],
            )
        self._entries = [each for each in self._entries if each[1]]
        if sum(characters for _, _, characters in self._entries) > _LONGEST_SUMMARIZED:
            entry = noted(entry, UNKNOWN, "the agent may have cut the words of the user at this compaction", line)
        stays = frozenset(entry_id for entry_id, _, _ in self._entries)
        summary = f"summary-{self._title}-{line}"[-100:].lstrip("-")
        return Summarized(summary, text, stays, "last"), entry, []

    def rolled_back(self, payload: JsonObject, entry: JsonObject, line: int) -> tuple[WindowChange | None, JsonObject]:
        """Return the removal of the newest turns, and *entry* with a note of it."""
        turns = payload.get("num_turns")
        begins = [at for at, (_, is_user, _) in enumerate(self._entries) if is_user]
        if not isinstance(turns, int) or turns < 1 or not begins:
            return None, entry
        place = begins[max(len(begins) - turns, 0)]
        removed = tuple(entry_id for entry_id, _, _ in self._entries[place:])
        self._entries = self._entries[:place]
        return Rewound(removed), noted(entry, REWIND, f"the agent took back its newest turns: {turns}", line)


IMPORTER: Final = Importer(FORMAT, detects, read, reads_damaged=True)
