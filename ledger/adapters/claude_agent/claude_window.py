"""The window of a session of the Claude Agent SDK: what its agent would send next. Source: adapters CL-10."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ledger.adapters.claude_agent.transcript_lines import line_of
from ledger.adapters.large_items import with_large_values
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.transcript import read_transcript
from ledger.events import CompactionCompleted, EntryAdded, JsonObject
from ledger.events.ids import Stream
from ledger.formats.importers.elements.claude_branch import Branch, Note, broken_chain
from ledger.formats.importers.elements.claude_lines import changes_window, field_of, is_prompt
from ledger.formats.importers.elements.damaged import clean
from ledger.formats.importers.elements.steps import HIDDEN, NOTE, UNKNOWN, Edited, Rewound, Summarized, WindowChange
from ledger.formats.transcripts.imported_window import ImportedWindow, erasure
from ledger.llm.tokenizers import TOKENIZERS
from ledger.session.state import SessionState
from projections.content_facts import facts_of
from projections.entries import Entry

#: The key of the session data that has the ``uuid`` of the newest line.
NEWEST: Final = "claude_newest"


class AgentWindow:
    """Follows what the lines of a session do to its window."""

    def __init__(self, handle: NamespaceHandle, stream: Stream, *, of_agent: bool) -> None:
        """*of_agent*: it is the transcript of an agent, else lines of agents among the others are never shown."""
        self._handle = handle
        self._stream = stream
        self._of_agent = of_agent

    async def follow(
        self, lines: Sequence[Mapping[str, Any]], entries: Sequence[EntryAdded], first: int, state: SessionState
    ) -> tuple[list[EntryAdded], list[CompactionCompleted]]:
        """Return the *entries* of new *lines*, with notes, and what leaves the window of *state* with them.

        *first* is the version of the first entry. What leaves is covered and not removed, so `load` has it still.
        """
        cleaned: list[JsonObject] = [clean(dict(line)) for line in lines]
        newest = state.working.data.get(NEWEST)
        past: tuple[Branch, ImportedWindow] | None = None
        before = [newest]
        for line in cleaned:
            before.append(field_of(line, "uuid") or before[-1])
        if any(self._needs_past(line, uuid) for line, uuid in zip(cleaned, before, strict=False)):
            past = await self._past(state)
        noted, left, hidden = list[EntryAdded](), list[CompactionCompleted](), list[tuple[int, int]]()
        for version, (line, entry, uuid) in enumerate(zip(cleaned, entries, before, strict=False), start=first):
            is_own = self._is_own(line)
            change, note = _followed(past[0], line, entry) if is_own and past else (None, None)
            if isinstance(change, Edited):  # an edit would change what `load` returns
                note = (UNKNOWN, "the agent sends other texts for results of tools, which the window still shows whole")
            if is_own and past is None and uuid and is_prompt(line) and line.get("parentUuid") is None:
                note = broken_chain(None)
            if change is not None and past is not None:
                hidden += self._left(past[1], change, entry.write_id)
                if isinstance(change, Summarized):
                    left.append(self._summarized(past[1], change, entry.write_id, state, version))
            noted.append(_noted(entry, note))
            if not is_own or (entry.metadata or {}).get(HIDDEN):
                hidden.append((version, entry.tokens))
            elif past is not None:
                past[1].add(entry, version)
        if hidden:
            left.append(erasure(hidden, entries[0].write_id, self._handle.services.clock.ulid()))
        return noted, left

    def _is_own(self, line: JsonObject) -> bool:
        return self._of_agent or line.get("isSidechain") is not True

    def _needs_past(self, line: JsonObject, newest: str | None) -> bool:
        """Tell whether what *line* does to the window depends on lines before *newest*."""
        if not self._is_own(line):
            return False
        parent = line.get("parentUuid")
        return changes_window(line) or (is_prompt(line) and parent is not None and parent != newest)

    async def _past(self, state: SessionState) -> tuple[Branch, ImportedWindow]:
        """Return the branch and the window of the lines up to *state*."""
        branch = Branch()
        if not state.opened:
            return branch, ImportedWindow()
        stored = await read_transcript(self._handle, self._stream, state, last=None)
        for entry in await with_large_values(self._handle, self._stream, stored, state.version):
            line = clean(line_of(entry))
            if self._is_own(line):
                _followed(branch, line, entry)
        return branch, await self._handle.services.states.view(self._stream, state, lambda: ImportedWindow.of(state))

    def _left(self, window: ImportedWindow, change: WindowChange, write_id: str) -> list[tuple[int, int]]:
        """Return version and tokens of each entry that a rewind takes out of *window*."""
        removed = window.rewind(change, write_id) if isinstance(change, Rewound) else ()
        return [(each.entry_version, each.tokens) for each in removed]

    def _summarized(
        self, window: ImportedWindow, change: Summarized, write_id: str, state: SessionState, version: int
    ) -> CompactionCompleted:
        counted = TOKENIZERS[state.config.tokenizer].count_text(change.text)
        return window.summarize(change, write_id, self._handle.services.clock.ulid(), counted, version)


def _followed(branch: Branch, line: JsonObject, entry: Entry | EntryAdded) -> tuple[WindowChange | None, Note | None]:
    raw = {"entry_id": entry.entry_id, "kind": entry.kind, "tool_call_id": entry.tool_call_id}
    try:
        return branch.follow(line, [raw])
    except (AttributeError, KeyError, TypeError):
        return None, (UNKNOWN, "this line cannot be read, so what it does to the window is not known")


def _noted(entry: EntryAdded, note: Note | None) -> EntryAdded:
    """Return *entry* with *note* in its metadata."""
    if note is None:
        return entry
    metadata = {**(entry.metadata or {}), NOTE: {"kind": note[0], "text": note[1]}}
    return replace(entry, metadata=metadata, facts=facts_of(entry.content, entry.data, metadata))
