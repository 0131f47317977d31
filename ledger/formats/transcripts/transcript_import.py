"""Import transcripts: a whole file in one transaction, each entry once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice
from typing import Final, TypeAlias

from ledger.errors import ImportRefused, SessionExists
from ledger.events import ImportedFrom, SessionCleared
from ledger.events.ids import Stream
from ledger.events.names import named_stream
from ledger.formats.export.file_reader import FILE_CHANGED
from ledger.formats.export.importing import REQUEST_EVENTS, Imported, ImportNote, Rereadable
from ledger.formats.importers import Conversation, ConversationReader, TranscriptFile
from ledger.formats.importers.elements.importer import is_imported
from ledger.formats.importers.elements.steps import ConversationStep, Noticed, Rewound, batches_of
from ledger.formats.transcripts.conversation_write import ConversationWrite, ImportTarget
from ledger.formats.transcripts.imported_window import ImportedWindow
from ledger.formats.transcripts.rereading import is_read_otherwise, is_untouched
from ledger.formats.transcripts.tally import Tally, noticed, read_notes
from ledger.history.state_loading import States
from ledger.ports import AppendRequest, Clock, Store
from ledger.ports.contention import until_uncontended
from ledger.session.commands import OpenSession
from ledger.session.decide import decide
from ledger.session.state import SessionState
from projections.memory_config.config import MemoryConfig

_ATTEMPTS: Final = 5
_AnyConversation: TypeAlias = Conversation | ConversationReader


class TranscriptImport:
    """Imports conversations into one namespace. Imports start no compaction (R-CMP-8)."""

    def __init__(self, store: Store, states: States[SessionState], clock: Clock, *, namespace: str, actor: str) -> None:
        self._store = store
        self._states = states
        self._clock = clock
        self._namespace = namespace
        self._actor = actor

    async def record(
        self,
        found: Sequence[Conversation] | TranscriptFile,
        *,
        config: MemoryConfig,
        user_id: str | None,
        again: bool,
        progress: Callable[[int, int], None],
    ) -> Imported:
        """Record conversations; entries whose ids are stored already are skipped, as are conversations without any.

        With *again*, a session that is stored as an older version read it is cleared, and all its entries are added.

        *progress* gets (conversations recorded, all conversations).

        Raises:
            ImportRefused: a line cannot be read, or the file changed meanwhile.
            SessionExists: a session of that name starts with other entries, or, with *again*, somebody wrote to one
                that is read otherwise now.
            Unavailable: other writers kept changing the same sessions.
        """
        conversations: Iterable[_AnyConversation] = found

        async def attempt(number: int) -> Imported:
            otherwise = await self._read_otherwise(conversations, user_id) if again else {}
            targets = [
                otherwise.get(conversation.session_id) or await self._target(conversation, config, user_id)
                for conversation in conversations
            ]
            tally = Tally()

            def requests() -> Iterator[AppendRequest]:
                tally.clear()  # a transaction that is repeated begins anew
                again = iter(conversations)
                for done, target in enumerate(targets):
                    progress(done, len(targets))
                    conversation = next(again, None)
                    if conversation is None or conversation.session_id != target.stream.session_id:
                        raise ImportRefused("changed", FILE_CHANGED)
                    if not target.complete:
                        yield from ConversationWrite(self._clock, self._actor, target, tally).requests(conversation)
                if next(again, None) is not None:  # or the file is refused here, when all of it is read
                    raise ImportRefused("changed", FILE_CHANGED)
                progress(len(targets), len(targets))

            if not all(target.complete for target in targets):
                await self._store.events.append_all(Rereadable(requests))
            names = [name for target in targets if (name := target.stream.session_id) in tally.entries or target.known]
            known_forks = [
                (await self._branch(target.stream, name))[0]
                for target in targets
                for name in dict.fromkeys(target.forks)
            ]
            names += dict.fromkeys(chain(known_forks, tally.forks))
            return Imported(
                sessions=len(names),
                entries=tally.entries.total(),
                skipped=sum(len(target.known) for target in targets),
                session_ids=tuple(names),
                reread=tuple(otherwise),
                other_lines=dict(tally.other_lines.most_common()),
                notes=tuple(chain(*(target.notes for target in targets), tally.notes)),
            )

        busy = "other writers kept changing the sessions of this file; try again"
        return await until_uncontended(attempt, attempts=_ATTEMPTS, message=busy)

    async def _read_otherwise(
        self, conversations: Iterable[_AnyConversation], user_id: str | None
    ) -> Mapping[str, ImportTarget]:
        """Return the targets of the sessions that are stored as an older version read them, by name."""
        found: dict[str, ImportTarget] = {}
        for conversation in conversations:
            stream = named_stream(self._namespace, conversation.session_id, user_id or "")
            state = await self._states.newest(stream)
            if not state.version:
                continue
            seen = Tally()
            writing = ConversationWrite(self._clock, self._actor, ImportTarget(stream, state, state.config, ()), seen)
            new = writing.events(conversation)
            lives = state.opened and not state.has_expired(self._clock.now())
            if not await is_read_otherwise(self._store, stream, state, new, lives=lives):
                continue
            for _ in new:  # to its end, for the names of all forks
                pass
            cleared = SessionCleared(write_id=self._clock.ulid(), reread=True)
            branches: dict[str, str] = {}
            ended: list[tuple[Stream, int]] = []
            for name in seen.forks:
                old, branches[name] = await self._branch(stream, name)
                fork = named_stream(self._namespace, old, stream.user_id)
                at = await self._states.newest(fork)
                if at.version and await is_untouched(self._store, fork, at):
                    ended.append((fork, at.version))
            found[stream.session_id] = ImportTarget(
                stream, state, state.config, (cleared,), branches=branches, ended=tuple(ended)
            )
        return found

    async def _branch(self, stream: Stream, name: str) -> tuple[str, str]:
        """Return the name of the newest session that the fork *name* of *stream* became, and one that is free."""
        newest = free = name
        for number in count(2):
            if not (await self._store.events.head(named_stream(self._namespace, free, stream.user_id)))[0]:
                break
            newest, free = free, f"{name}.{number}"
        return newest, free

    async def _target(self, found: _AnyConversation, config: MemoryConfig, user_id: str | None) -> ImportTarget:
        stream = named_stream(self._namespace, found.session_id, user_id or "")
        state = await self._states.newest(stream)
        opening = decide(
            state,
            OpenSession(
                write_id=self._clock.ulid(),
                namespace=stream.namespace,
                user_id=stream.user_id,
                session_id=stream.session_id,
                config=config,
                imported_from=ImportedFrom(format=found.format, session_id=found.session_id),
                anew=state.has_expired(self._clock.now()),
            ),
        )
        own = config if opening else state.config
        if not state.version:
            return ImportTarget(stream, state, own, tuple(opening))
        known: set[str] = set()
        forks: list[str] = []
        notes: list[ImportNote] = []
        read = _noting(forks, notes, stream.session_id, found.steps)
        drafts = (draft for batch in batches_of(read) for draft in batch)
        ids = (draft.entry_id or "" for draft in read_notes(notes, stream.session_id, drafts))
        complete = True
        while page := list(islice(ids, REQUEST_EVENTS)):
            stored = await self._store.events.find_items(stream, page)
            for entry_id in page:
                if entry_id in stored and not complete:
                    raise SessionExists(found.session_id)  # the file was changed before what is stored of it
                complete = complete and entry_id in stored
            known.update(stored)
        window = None if complete else await self._states.view(stream, state, lambda: ImportedWindow.of(state))
        if window is not None and (not known or any(is_imported(each) and each not in known for each in window.active)):
            raise SessionExists(found.session_id)  # it has entries of another file
        window = None if opening else window
        return ImportTarget(
            stream, state, own, tuple(opening), frozenset(known), tuple(forks), complete, window, tuple(notes)
        )


def _noting(
    forks: list[str], notes: list[ImportNote], session_id: str, steps: Iterable[ConversationStep]
) -> Iterator[ConversationStep]:
    """Yield *steps*, and add to *forks* those that begin among them, and to *notes* what no entry has."""
    begun: list[str] = []
    for step in steps:
        if isinstance(step, Noticed):
            notes.append(noticed(step, session_id))
        elif isinstance(step, Rewound) and step.branch:
            begun.append(step.branch)
        elif isinstance(step, tuple):
            forks += begun
            begun.clear()
        yield step
