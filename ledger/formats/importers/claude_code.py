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
from ledger.formats.importers.elements.claude_branch import Branch
from ledger.formats.importers.elements.claude_lines import after_thoughts, entries_of, field_of, message_id_of
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import ConversationReader, Importer, session_name, shaped, steps
from ledger.formats.importers.elements.steps import WindowChange, noted

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
        if field_of(document.value, "uuid") or len(early) >= 1_000:
            break
    first: Any = next((one.value for one in reversed(early) if field_of(one.value, "sessionId")), {})
    own = _agent(first, {})
    # a file that continues another has copies of its lines, with the other's id; its name is its own
    stem = name.rpartition(":")[2]
    session = stem if own is None and _is_uuid(stem) else field_of(first, "sessionId") or name
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
            if agent == self._own or not field_of(document.value, "uuid"):
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
    """Reads the lines of one agent as messages."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._branch = Branch(name)

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
        repeated = self._branch.has(document.value)
        entries = entries_of(document.value, tools, repeated=repeated)
        if repeated:
            return None, entries
        change, note = self._branch.follow(document.value, entries)
        if note is not None:
            entries[0] = noted(entries[0], *note, document.line)
        return change, entries


def _agent(value: Any, roots: dict[str, str]) -> str | None:
    """Return the agent that wrote a line, None for the session itself; *roots* has agents without an id by line."""
    if not isinstance(value, dict) or value.get("isSidechain") is not True:
        return None
    named, uuid = field_of(value, "agentId"), field_of(value, "uuid") or ""
    agent = named or roots.get(field_of(value, "parentUuid") or "") or uuid[:8] or "agent"
    roots[uuid] = agent
    return agent


def _is_uuid(name: str) -> bool:
    return _UUID.fullmatch(name) is not None


IMPORTER: Final = Importer(FORMAT, detects, read, reads_damaged=True)
