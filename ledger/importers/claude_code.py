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
from ledger.importers.parts.claude_lines import entries_of, is_prompt, is_summary, message_id_of
from ledger.importers.parts.documents import Document
from ledger.importers.parts.steps import Rewound, Summarized, WindowChange

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
    """Follows the lines of one agent along the branch of the newest prompt."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._place: dict[str, int] = {}  # uuid -> number of the line
        self._entries: list[tuple[int, str]] = []  # line and id of each entry since the last compaction or rewind
        self._prompts: list[int] = []  # their lines
        self._branches = 0

    def read(self, found: Iterator[Document]) -> Iterator[Raw]:
        """Yield the entries of each message, and the changes before them; lines of one answer are one message."""
        answer: list[JsonObject] = []
        open_id: str | None = None
        at, tools = 0, dict[str, str]()
        for document in found:
            with shaped(f"{self._name}, line {document.line}", line=document.line):
                message_id = message_id_of(document.value)
                change, entries = self._take(document, tools)
            if answer and (message_id is None or message_id != open_id):
                yield at, answer
                answer = []
            if change is not None:
                yield document.line, change
            answer, open_id, at = answer + entries, message_id, document.line
        if answer:
            yield at, answer

    def _take(self, document: Document, tools: dict[str, str]) -> tuple[WindowChange | None, list[JsonObject]]:
        line, value = document.line, document.value
        uuid = value.get("uuid")
        repeated = isinstance(uuid, str) and uuid in self._place
        change = None if repeated else self._change(line, value)
        entries = entries_of(value, tools, repeated=repeated)
        if not repeated:
            if isinstance(uuid, str):
                self._place[uuid] = line
            self._entries += [(line, entry["entry_id"]) for entry in entries if entry["entry_id"]]
        return change, entries

    def _change(self, line: int, value: JsonObject) -> WindowChange | None:
        if is_summary(value):
            text = text_of(value["message"].get("content"))[0]
            self._entries.clear()
            self._prompts.clear()
            return Summarized(f"summary-{value.get('uuid')}"[:100], text) if text.strip() else None
        if not is_prompt(value):
            return None
        parent = value.get("parentUuid")
        back_to = 0 if parent is None else self._place.get(parent, line)
        if not any(prompt > back_to for prompt in self._prompts):
            self._prompts.append(line)
            return None
        removed = tuple(entry_id for at, entry_id in self._entries if at > back_to)
        self._entries = [(at, entry_id) for at, entry_id in self._entries if at <= back_to]
        self._prompts = [*(prompt for prompt in self._prompts if prompt <= back_to), line]
        self._branches += 1
        return Rewound(removed, f"{self._name}~{self._branches}")


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
