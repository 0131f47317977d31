"""What an import writes of one conversation: its appends, a few hundred events each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from ledger.events import EntryAdded, Event, ForkedFrom, KeptSet, SessionCleared
from ledger.events.ids import Stream
from ledger.events.names import named_stream
from ledger.formats.export.importing import REQUEST_EVENTS, ImportNote
from ledger.formats.importers import Conversation, ConversationReader
from ledger.formats.importers.elements.steps import (
    Attached,
    Batch,
    Edited,
    Noticed,
    Replaced,
    Rewound,
    Summarized,
    WindowChange,
    is_hidden,
    line_type_of,
)
from ledger.formats.transcripts.imported_window import ImportedWindow
from ledger.formats.transcripts.tally import Tally, noticed, read_notes
from ledger.llm.tokenizers import TOKENIZERS, entry_event
from ledger.ports import AppendRequest, Clock
from ledger.ports.event_encoding import append_request
from ledger.session.attachments import SPACE
from ledger.session.commands import OpenSession
from ledger.session.decide import decide
from ledger.session.key_value_drafts import KeptDraft
from ledger.session.state import SessionState
from projections.memory_config.config import MemoryConfig

_REQUEST_BYTES: Final = 16 * 1024 * 1024  # of attachments in one request


class ImportTarget(msgspec.Struct, frozen=True):
    """The session that a conversation becomes: where it goes on, and what of it is stored already.

    *known* has the ids of stored entries, *forks* and *notes* those of the conversation, if anything of it is stored;
    *window* is that of a session that goes on. One that is read again has no *known* entries: *branches* names its new
    forks, by the names that the file gives them, and *ended* has the old ones, with their versions.
    """

    stream: Stream
    state: SessionState
    config: MemoryConfig
    opening: tuple[Event, ...]
    known: frozenset[str] = frozenset()
    forks: tuple[str, ...] = ()
    complete: bool = False
    window: ImportedWindow | None = None
    notes: tuple[ImportNote, ...] = ()
    branches: Mapping[str, str] = {}
    ended: tuple[tuple[Stream, int], ...] = ()


class ConversationWrite:
    """The appends of one conversation to its session."""

    def __init__(self, clock: Clock, actor: str, target: ImportTarget, tally: Tally) -> None:
        self._clock = clock
        self._actor = actor
        self._target = target
        self._tally = tally
        self._window = target.window.copy() if target.window else ImportedWindow()
        self._attached: set[str] = set()
        self._version = target.state.version + len(target.opening)

    def requests(self, found: Conversation | ConversationReader) -> Iterator[AppendRequest]:
        """Yield the appends, a few hundred events each; a fork after what it shares with the session."""
        steps = self.events(found)
        first = next(steps, None)
        if first is None:
            return
        stream, version = self._target.stream, self._target.state.version
        page, size = list[Event](self._target.opening), 0
        for step in chain([first], steps):
            if isinstance(step, Stream):
                if page:
                    yield self._append(page, version)
                    version, page, size = version + len(page), [], 0
                origin = ForkedFrom(session_id=stream.session_id, version=version, user_id=stream.user_id)
                yield append_request(
                    step, self._opening(step, origin), expected_version=None, clock=self._clock, actor=self._actor
                )
                continue
            page.append(step)
            size += len(step.content or b"") if isinstance(step, KeptSet) else 0
            if len(page) == REQUEST_EVENTS or size > _REQUEST_BYTES:
                yield self._append(page, version)
                version, page, size = version + len(page), [], 0
        if page:
            yield self._append(page, version)
        for fork, at in self._target.ended:
            gone = SessionCleared(write_id=self._clock.ulid(), ended=True, reread=True)
            yield append_request(fork, [gone], expected_version=at, clock=self._clock, actor=self._actor)

    def _append(self, page: Sequence[Event], version: int) -> AppendRequest:
        return append_request(self._target.stream, page, expected_version=version, clock=self._clock, actor=self._actor)

    def events(self, found: Conversation | ConversationReader) -> Iterator[Event | Stream]:
        """Yield the new events, and the stream of each fork where it begins."""
        changes: list[WindowChange | Attached] = []
        for step in found.steps:
            if isinstance(step, Noticed):
                if not self._target.known:
                    self._tally.notes.append(noticed(step, self._target.stream.session_id))
                continue
            if not isinstance(step, tuple):
                changes.append(step)
                continue
            new: Batch = tuple(draft for draft in step if draft.entry_id not in self._target.known)
            if new:
                write_id = self._clock.ulid()
                for event in chain(self._changed(changes, write_id), self._added(new, write_id)):
                    self._version += not isinstance(event, Stream)
                    if isinstance(event, EntryAdded):
                        self._window.add(event, self._version)
                    yield event
            changes.clear()  # with the batch that is stored already

    def _changed(self, changes: Iterable[WindowChange | Attached], write_id: str) -> Iterator[Event | Stream]:
        for change in changes:
            match change:
                case Attached(contents=contents):
                    for digest in sorted(contents.keys() - self._attached):
                        yield KeptDraft(space=SPACE, key=digest, value=contents[digest]).to_event(write_id)
                    self._attached |= contents.keys()
                case Summarized(text=text):
                    counted = TOKENIZERS[self._target.config.tokenizer].count_text(text)
                    yield self._window.summarize(change, write_id, self._clock.ulid(), counted, self._version + 1)
                case Replaced(stays=stays):
                    yield from self._window.empty(write_id, self._clock.ulid(), stays)
                case Edited(texts=texts):
                    for entry_id, text in texts.items():
                        counted = TOKENIZERS[self._target.config.tokenizer].count_text(text)
                        edited = self._window.edit(entry_id, text, write_id, counted)
                        if edited is not None:
                            yield edited
                case Rewound(branch=branch):
                    if branch:
                        stream = self._target.stream
                        branch = self._target.branches.get(branch, branch)
                        self._tally.forks.append(branch)
                        yield named_stream(stream.namespace, branch, stream.user_id)
                    yield from self._window.rewind(change, write_id)

    def _added(self, new: Batch, write_id: str) -> Iterator[Event]:
        """Yield the entries of a batch, then the removals of those that the window does not show."""
        session, is_new = self._target.stream.session_id, not self._target.known
        for draft in read_notes(self._tally.notes, session, new) if is_new else new:
            entry_id = draft.entry_id or ""
            self._tally.entries[self._target.stream.session_id] += 1
            if (line_type := line_type_of(draft)) is not None:
                self._tally.other_lines[line_type] += 1
            added = entry_event(draft, write_id=write_id, entry_id=entry_id, tokenizer=self._target.config.tokenizer)
            yield msgspec.structs.replace(added, past=True)
        for draft in new:
            if is_hidden(draft):
                removed = self._window.remove(draft.entry_id or "", write_id)
                if removed is not None:
                    yield removed

    def _opening(self, stream: Stream, origin: ForkedFrom) -> list[Event]:
        return decide(
            SessionState(),
            OpenSession(
                write_id=self._clock.ulid(),
                namespace=stream.namespace,
                user_id=stream.user_id,
                session_id=stream.session_id,
                config=self._target.config,
                forked_from=origin,
            ),
        )
