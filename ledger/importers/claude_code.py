"""Claude Code transcripts (JSONL): answers, tools, thinking, compactions, rewinds and agents. Source: adapters IN-4.

A file is a tree of lines, written in the order in which they happened, and read in that order: a prompt whose parent
lies before an earlier prompt is a rewind. What it leaves behind stays in a fork, so that the session is always the
branch of the newest prompt, also when a file grows.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from ledger.events import JsonObject
from ledger.importers.base import ConversationReader, Importer, session_name, shaped, steps, text_of
from ledger.importers.parts.claude_lines import (
    after_thoughts,
    entries_of,
    is_prompt,
    is_summary,
    kept_by,
    message_id_of,
)
from ledger.importers.parts.documents import Document
from ledger.importers.parts.steps import REWIND, UNKNOWN, Rewound, Summarized, WindowChange, noted

FORMAT: Final = "claude-code"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

Raw = tuple[int, list[JsonObject] | WindowChange]


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document is a line of a transcript, by the fields that Claude Code gives every line."""
    value = found[0].value
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if isinstance(value.get("sessionId"), str):
        return not {"projectHash", "traceId"} & value.keys()
    return (value["type"] == "summary" and "leafUuid" in value) or value["type"] == "file-history-snapshot"


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the session of a file, then the agents whose lines are among its lines."""
    early: list[Document] = []  # lines before the first that names the session
    for document in found:
        early.append(document)
        if _field(document.value, "uuid") or len(early) >= 1_000:
            break
    first: Any = next((one.value for one in reversed(early) if _field(one.value, "sessionId")), {})
    own = _agent(first, {})
    # a file that continues another has copies of its lines, with the other's id; its name is its own
    stem = name.rpartition(":")[2]
    session = stem if own is None and _is_uuid(stem) else _field(first, "sessionId") or name
    agents = _Agents(own)
    lines = agents.others_left_out(chain(early, found))
    title = session_name(session) if own is None else f"{session_name(session)}#{session_name(own)}"
    yield ConversationReader(FORMAT, title, steps(title, _Path(title).read(lines)))
    for _ in lines:
        pass  # the reader may have wanted nothing of it
    for agent in agents.names():
        other = f"{session_name(session)}#{session_name(agent)}"
        yield ConversationReader(FORMAT, other, steps(other, _Path(other).read(agents.lines(agent))))


class _Agents:
    """The lines of other agents in a file, compressed until the session itself is read."""

    def __init__(self, own: str | None) -> None:
        self._own = own
        self._roots: dict[str, str] = {}
        self._stored: dict[str, tuple[Any, list[bytes]]] = {}

    def others_left_out(self, found: Iterator[Document]) -> Iterator[Document]:
        """Yield the lines of the file's own agent, and store the others."""
        for document in found:
            agent = _agent(document.value, self._roots)
            if agent == self._own or not _field(document.value, "uuid"):
                yield document
                continue
            packer, parts = self._stored.setdefault(str(agent), (zlib.compressobj(), []))
            parts.append(packer.compress(msgspec.json.encode([document.line, document.value]) + b"\n"))

    def names(self) -> list[str]:
        """Return the other agents, in the order of their first lines."""
        return list(self._stored)

    def lines(self, agent: str) -> Iterator[Document]:
        """Yield the lines of *agent*, once."""
        packer, parts = self._stored.pop(agent)
        unpacker, rest = zlib.decompressobj(), b""
        for part in (*parts, packer.flush()):
            *whole, rest = (rest + unpacker.decompress(part)).split(b"\n")
            for line in whole:
                number, value = msgspec.json.decode(line)
                yield Document(number, value)


class _Path:
    """Follows the lines of one agent along the branch of the newest prompt.

    A place is where a line stands in what the agent sent: lines that a compaction kept stand after it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._now = 0
        self._place: dict[str, int] = {}  # by uuid
        self._entries: list[tuple[int, str, str]] = []  # place, uuid and id of each entry of the branch
        self._prompts: list[tuple[int, str]] = []  # their places and uuids
        self._branches = 0
        self._compaction: Any = None  # the metadata of one whose summary has not come yet

    def read(self, found: Iterator[Document]) -> Iterator[Raw]:
        """Yield the entries of each message, and the changes before them; lines of one answer are one message."""
        answer: list[JsonObject] = []
        open_id: str | None = None
        at, tools, thoughts = 0, dict[str, str](), list[JsonObject]()
        for document in found:
            with shaped(f"{self._name}, line {document.line}", line=document.line):
                message_id = message_id_of(document.value)
                change, entries = self._take(document, tools)
            if answer and (message_id is None or message_id != open_id):
                yield at, answer
                answer, thoughts = [], []
            entries, thoughts = after_thoughts(entries, document.value, thoughts)
            if change is not None:
                yield document.line, change
            answer, open_id, at = answer + entries, message_id, document.line
        if answer:
            yield at, answer

    def _take(self, document: Document, tools: dict[str, str]) -> tuple[WindowChange | None, list[JsonObject]]:
        value, uuid = document.value, _field(document.value, "uuid") or ""
        repeated = uuid in self._place
        entries = entries_of(value, tools, repeated=repeated)
        if repeated:
            return None, entries
        self._now += 1
        change, note = self._change(value, uuid)
        if note is not None:
            entries[0] = noted(entries[0], *note, document.line)
        if uuid:
            self._place[uuid] = self._now
        self._entries += [(self._now, uuid, entry["entry_id"]) for entry in entries if entry["entry_id"]]
        return change, entries

    def _change(self, value: JsonObject, uuid: str) -> tuple[WindowChange | None, tuple[str, str] | None]:
        if is_summary(value):
            return self._compact(value, uuid)
        if value.get("subtype") == "compact_boundary":
            self._compaction = value.get("compactMetadata") or {}
        if value.get("subtype") == "microcompact_boundary":
            return None, (UNKNOWN, "the agent cleared results of tools, which the window still shows")
        if not is_prompt(value):
            return None, None
        note = None
        if self._compaction is not None:
            note = (UNKNOWN, "a compaction before this prompt has no summary; all messages are still shown")
            self._compaction = None
        parent = value.get("parentUuid")
        back_to = self._place.get(parent, self._now) if isinstance(parent, str) else self._now
        if back_to == self._now and self._entries and note is None:
            what = "no parent" if parent is None else "a parent that the file does not have"
            note = (UNKNOWN, f"this prompt has {what}: it may begin anew; all messages before it are still shown")
        rewound = any(place > back_to for place, _ in self._prompts)
        removed = tuple(entry_id for place, _, entry_id in self._entries if place > back_to) if rewound else ()
        if rewound:
            self._entries = [each for each in self._entries if each[0] <= back_to]
            self._prompts = [each for each in self._prompts if each[0] <= back_to]
        self._prompts.append((self._now, uuid))
        if not rewound:
            return None, note
        self._branches += 1
        branch = f"{self._name}~{self._branches}"
        said = f"this prompt follows an earlier line; what came after that is in the session {branch}"
        return Rewound(removed, branch), (REWIND, said)

    def _compact(self, value: JsonObject, uuid: str) -> tuple[WindowChange | None, tuple[str, str] | None]:
        """Return the summary of a compaction, which may keep messages word for word."""
        text = text_of(value["message"].get("content"))[0]
        order = {place: name for name, place in self._place.items()} if self._compaction else {}
        names, is_last, is_whole = kept_by(self._compaction or {}, uuid, [order[place] for place in sorted(order)])
        self._compaction = None
        note = None
        if not is_whole or any(name not in self._place for name in names):
            note = (UNKNOWN, "the compaction kept messages that the file does not have")
        if not text.strip():
            return None, (UNKNOWN, "the summary of the compaction is empty; all messages are still shown")
        entries, prompts = list[tuple[int, str, str]](), list[tuple[int, str]]()
        for name in names:
            if name in self._place:
                self._now += 1
                self._place[name] = self._now
                entries += [(self._now, name, entry_id) for _, owner, entry_id in self._entries if owner == name]
                prompts += [(self._now, name) for _, owner in self._prompts if owner == name]
        self._entries, self._prompts = entries, prompts
        self._now += 1
        kept = frozenset(entry_id for _, _, entry_id in entries)
        return Summarized(f"summary-{value.get('uuid')}"[:100], text, kept, "last" if is_last else "first"), note


def _agent(value: Any, roots: dict[str, str]) -> str | None:
    """Return the agent that wrote a line, None for the session itself; *roots* has agents without an id by line."""
    if not isinstance(value, dict) or value.get("isSidechain") is not True:
        return None
    named, uuid = _field(value, "agentId"), _field(value, "uuid") or ""
    agent = named or roots.get(_field(value, "parentUuid") or "") or uuid[:8] or "agent"
    roots[uuid] = agent
    return agent


def _field(value: Any, name: str) -> str | None:
    field = value.get(name) if isinstance(value, dict) else None
    return field if isinstance(field, str) and field else None


def _is_uuid(name: str) -> bool:
    return _UUID.fullmatch(name) is not None


IMPORTER: Final = Importer(FORMAT, detects, read, reads_damaged=True)
