"""Which lines of a Claude Code transcript its agent would send next. Source: adapters IN-4."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from ledger.events import JsonObject
from ledger.formats.importers.elements.claude_lines import field_of, has_results, is_prompt, is_summary, left_by
from ledger.formats.importers.elements.importer import text_of
from ledger.formats.importers.elements.steps import REWIND, UNKNOWN, Edited, Rewound, Summarized, WindowChange

#: The kind of a note on the window, and its text.
Note: TypeAlias = tuple[str, str]


def broken_chain(parent: object) -> Note:
    """Return what to say of a prompt that follows no line, or one that is not known."""
    what = "no parent" if parent is None else "a parent that is not among the lines"
    return UNKNOWN, f"this prompt has {what}: it may begin anew; all messages before it are still shown"


class Branch:
    """Follows lines along the branch of the newest prompt.

    A place is where a line stands in what the agent sent: lines that a compaction kept stand after it.
    """

    def __init__(self, name: str = "") -> None:
        """What a rewind leaves behind is in the fork *name* ``~`` and a number; without a name there are no forks."""
        self._name = name
        self._now = 0
        self._place: dict[str, int] = {}  # by uuid
        self._entries: list[tuple[int, str, str]] = []  # place, uuid and id of each entry of the branch
        self._prompts: list[tuple[int, str]] = []  # their places and uuids
        self._results: dict[str, list[str]] = {}  # lines with results of tools, by the line that called
        self._result: dict[str, str] = {}  # the id of the entry with the newest result of a call, by the call's id
        self._cleared: Any = None  # what the API said last that it had cleared
        self._branches = 0
        self._compaction: Any = None  # the metadata of one whose summary has not come yet
        self._compacted = 0  # lines up to this place are behind the newest compaction

    def has(self, value: Any) -> bool:
        """Tell whether a line with the uuid of *value* was followed before."""
        return (field_of(value, "uuid") or "") in self._place

    def follow(self, value: JsonObject, entries: Sequence[JsonObject]) -> tuple[WindowChange | None, Note | None]:
        """Take in a line that becomes the raw *entries*; return the change before it, and what is to say."""
        uuid = field_of(value, "uuid") or ""
        self._now += 1
        change, note = self._change(value, uuid)
        if uuid:
            self._place[uuid] = self._now
            if has_results(value):
                self._results.setdefault(field_of(value, "parentUuid") or "", []).append(uuid)
        named = [entry for entry in entries if entry.get("entry_id")]
        self._entries += [(self._now, uuid, entry["entry_id"]) for entry in named]
        results = [entry for entry in named if entry.get("kind") == "tool_result" and entry.get("tool_call_id")]
        self._result.update((entry["tool_call_id"], entry["entry_id"]) for entry in results)
        return change, note

    def _change(self, value: JsonObject, uuid: str) -> tuple[WindowChange | None, Note | None]:
        if is_summary(value):
            return self._compact(value, uuid)
        subtype = value.get("subtype")
        if subtype == "compact_boundary":
            self._compaction = value.get("compactMetadata") or {}
        if subtype == "microcompact_boundary":
            return None, (UNKNOWN, "the agent cleared results of tools, which the window still shows")
        if value.get("type") == "content-replacement":
            return self._edited(value.get("replacements")), None
        if value.get("type") == "assistant":
            return None, self._cleared_by_api(value)
        if isinstance(value.get("snipMetadata"), dict):
            return self._snip(value["snipMetadata"].get("removedUuids") or ()), None
        return self._prompt(value, uuid) if is_prompt(value) else (None, None)

    def _prompt(self, value: JsonObject, uuid: str) -> tuple[WindowChange | None, Note | None]:
        note = None
        if self._compaction is not None:
            note = (UNKNOWN, "a compaction before this prompt has no summary; all messages are still shown")
            self._compaction = None
        parent = value.get("parentUuid")
        back_to = self._place.get(parent, self._now) if isinstance(parent, str) else self._now
        if back_to == self._now and self._entries and note is None:
            note = broken_chain(parent)
        if back_to <= self._compacted:  # what a compaction took away does not come back
            why = "this prompt follows a line from before the compaction; the summary and what follows are still shown"
            note, back_to = (UNKNOWN, why), self._now
        rewound = any(place > back_to for place, _ in self._prompts)
        removed = tuple(entry_id for place, _, entry_id in self._entries if place > back_to) if rewound else ()
        if rewound:
            self._entries = [each for each in self._entries if each[0] <= back_to]
            self._prompts = [each for each in self._prompts if each[0] <= back_to]
        self._prompts.append((self._now, uuid))
        if not rewound:
            return None, note
        self._branches += 1
        branch = f"{self._name}~{self._branches}" if self._name else ""
        where = f"what came after that is in the session {branch}" if branch else "what came after that left the window"
        return Rewound(removed, branch), (REWIND, f"this prompt follows an earlier line; {where}")

    def _compact(self, value: JsonObject, uuid: str) -> tuple[WindowChange | None, Note | None]:
        """Return the summary of a compaction, which may keep messages word for word."""
        text = text_of(value["message"].get("content"))[0]
        order = {place: name for name, place in self._place.items()} if self._compaction else {}
        names, is_last, is_whole = left_by(self._compaction or {}, uuid, [order[place] for place in sorted(order)])
        self._compaction = None
        note = None
        if not is_whole or any(name not in self._place for name in names):
            note = (UNKNOWN, "the compaction kept messages that the file does not have")
        if not text.strip():
            return None, (UNKNOWN, "the summary of the compaction is empty; all messages are still shown")
        self._compacted = self._now - 1
        entries, prompts = list[tuple[int, str, str]](), list[tuple[int, str]]()
        for name in dict.fromkeys(each for stays in names for each in (stays, *self._results.get(stays, ()))):
            if name in self._place:
                self._now += 1
                self._place[name] = self._now
                entries += [(self._now, name, entry_id) for _, owner, entry_id in self._entries if owner == name]
                prompts += [(self._now, name) for _, owner in self._prompts if owner == name]
        self._entries, self._prompts = entries, prompts
        self._now += 1
        stays = frozenset(entry_id for _, _, entry_id in entries)
        return Summarized(f"summary-{value.get('uuid')}"[:100], text, stays, "last" if is_last else "first"), note

    def _snip(self, uuids: Sequence[str]) -> WindowChange | None:
        """Return the removal of the lines *uuids*, which the agent cut out of the middle; the rest stays."""
        removed = tuple(entry_id for _, owner, entry_id in self._entries if owner in uuids)
        self._entries = [each for each in self._entries if each[1] not in uuids]
        self._prompts = [each for each in self._prompts if each[1] not in uuids]
        return Rewound(removed) if removed else None

    def _edited(self, replacements: Any) -> WindowChange | None:
        """Return the texts that the agent sends in the place of long results of tools."""
        texts: dict[str, str] = {}
        for each in replacements if isinstance(replacements, list) else ():
            entry_id, text = self._result.get(str(each.get("toolUseId"))), each.get("replacement")
            if entry_id is not None and isinstance(text, str) and text.strip():
                texts[entry_id] = text
        return Edited(texts) if texts else None

    def _cleared_by_api(self, value: JsonObject) -> Note | None:
        """Return a note if the API cleared more of what was sent before an answer than before the last one."""
        message = value.get("message")
        managed = message.get("context_management") if isinstance(message, dict) else None
        edits = managed.get("applied_edits") if isinstance(managed, dict) else None
        if not edits or edits == self._cleared:
            return None
        self._cleared = edits
        return UNKNOWN, "the API cleared results of tools or thinking before this answer, which the window still shows"
