"""What an import did not understand, over all formats: parts, calls without answers, and when it is too much.

Source: adapters IN-20.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.message_shapes import MARKERS, MEDIA
from ledger.formats.importers.elements.steps import (
    EMPTY,
    NO_CALL,
    NO_RESULT,
    NOT_UNDERSTOOD,
    NOTE,
    Batch,
    ConversationStep,
    Noticed,
    is_hidden,
    noted,
)
from ledger.session.entry_drafts import EntryDraft

_PLACEHOLDER: Final = re.compile(r"\[([^\[\]\n]+)\]")
#: Types that are known, and have no text of their own, or one beside the entry.
_KNOWN: Final = (
    MEDIA
    | MARKERS
    | {
        *("text", "input_text", "output_text", "reasoning", "thinking", "redacted_thinking", "refusal"),
        *("compaction", "item_reference", "tool_reference", "tool_use", "tool_result", "server_tool_use"),
        *("web_search_call", "file_search_call", "computer_call", "code_interpreter_call", "image_generation_call"),
        *("local_shell_call", "mcp_call", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
        *("context_compaction", "ghost_snapshot", "connector_text", "computer_screenshot", "encrypted_content"),
    }
)
#: Where an entry holds a part that it shows by its type.
_HELD: Final = ("part", "item", "block")


def checked(entry: JsonObject, line: int | None = None) -> JsonObject:
    """Return the raw *entry*, with a note if it does not show all that its message says; *line* is that of a file."""
    unread = _unread(entry)
    return noted(entry, NOT_UNDERSTOOD, unread, line) if unread else entry


def _unread(entry: JsonObject) -> str | None:
    """Return what of *entry* was not understood."""
    shown, data = entry.get("content"), entry.get("data")
    if entry.get("kind") not in {"message", "tool_result", None} or not isinstance(shown, str):
        return None
    if not isinstance(data, Mapping):
        return None
    if shown == EMPTY:
        named = sorted(str(name) for name, value in data.items() if value not in (None, "", [], {}, False))
        return f"a message shows nothing; not understood: {', '.join(named)[:200]}" if named else None
    content = data.get("content")
    types = [_type(part) for part in content] if isinstance(content, list) else []
    found = _PLACEHOLDER.fullmatch(shown)
    if found and any(name in data for name in _HELD):
        types.append(found.group(1))
    unknown = sorted({kind for kind in types if kind not in _KNOWN})
    return f"parts not understood: {', '.join(unknown)[:200]}" if unknown else None


def _type(part: Any) -> str:
    if isinstance(part, str):
        return "text"
    return str(part.get("type", "part without a type")) if isinstance(part, Mapping) else "part without a type"


class OpenCalls:
    """The calls of a conversation that have no result yet, with the lines they are on."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, str]] = {}
        self._by_id: dict[str, deque[int]] = {}
        self._by_tool: dict[str, deque[int]] = {}
        self._taken = 0

    def take(self, drafts: Iterable[EntryDraft], line: int) -> Iterator[Noticed]:
        """Take in *drafts*, and yield what has no call before it; what no window shows does not count.

        A result belongs to the oldest open call of its id or, without one, of its tool, as in a window (R-GEN-8).
        """
        for draft in drafts:
            if is_hidden(draft):
                continue
            if draft.kind == "tool_call":
                self._call(draft, line)
            elif draft.kind == "tool_result" and not self._answers(draft):
                named = str(draft.tool_call_id or draft.tool_name or "without an id")[:100]
                yield Noticed(NO_CALL, f"the result {named} has no call before it", line)

    def left(self) -> Iterator[Noticed]:
        """Yield the calls that got no result."""
        for line, name in sorted(self._open.values()):
            yield Noticed(NO_RESULT, f"the call {name} has no result", line)

    def _call(self, draft: EntryDraft, line: int) -> None:
        self._taken += 1
        named = str(draft.tool_name)[:100]
        self._open[self._taken] = (line, f"{named} {draft.tool_call_id}" if draft.tool_call_id else named)
        for calls, key in ((self._by_id, draft.tool_call_id), (self._by_tool, draft.tool_name)):
            if key:
                calls.setdefault(key, deque()).append(self._taken)

    def _answers(self, result: EntryDraft) -> bool:
        own = result.tool_call_id
        waiting = self._by_id.get(own) if own else self._by_tool.get(result.tool_name or "")
        while waiting:
            if self._open.pop(waiting.popleft(), None):
                return True
        return False


class Understood:
    """How many messages of a file were understood."""

    def __init__(self) -> None:
        self._messages = 0
        self._unread = 0
        self._first: tuple[int | None, str] | None = None

    def counted(self, steps: Iterable[ConversationStep]) -> Iterator[ConversationStep]:
        """Yield *steps*, and count their messages."""
        for step in steps:
            if isinstance(step, tuple):
                self._count(step)
            yield step

    def check(self) -> None:
        """Refuse the file if most of it was not understood.

        Raises:
            ImportRefused: ``not_understood``.
        """
        if self._first is not None and self._unread * 2 > self._messages:
            line, text = self._first
            message = (
                f"{self._unread} of {self._messages} messages were not understood, so nothing was imported: {text}; "
                "write them as chat messages with role and content, or choose the format with --format"
            )
            raise ImportRefused("not_understood", message, line=line)

    def _count(self, batch: Batch) -> None:
        notes = [found for draft in batch if (found := (draft.metadata or {}).get(NOTE)) is not None]
        unread = next((note for note in notes if note["kind"] == NOT_UNDERSTOOD), None)
        if unread is not None:
            self._unread += 1
            self._first = self._first or (unread.get("line"), unread["text"])
        if unread is not None or not all(map(is_hidden, batch)):
            self._messages += 1
