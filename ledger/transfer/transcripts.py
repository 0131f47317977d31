"""Import transcripts: a whole file in one transaction, each entry once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from ledger.contention import until_uncontended
from ledger.errors import ImportRefused, SessionExists
from ledger.events import ImportedFrom
from ledger.importers import Conversation, TranscriptFile
from ledger.importers.base import is_imported
from ledger.importers.parts.steps import (
    ConversationStep,
    Noticed,
    Rewound,
    batches_of,
)
from ledger.names import named_stream
from ledger.ports import AppendRequest, Clock, Store
from ledger.session.commands import OpenSession
from ledger.session.decisions import decide
from ledger.session.state import SessionState
from ledger.states.loading import States
from ledger.transfer.conversation_write import AnyConversation, ConversationWrite, Target
from ledger.transfer.imported_window import ImportedWindow
from ledger.transfer.importing import REQUEST_EVENTS, Imported, ImportNote, Rereadable
from ledger.transfer.reader import FILE_CHANGED
from ledger.transfer.tally import Tally, noticed, read_notes
from projections.config import MemoryConfig

_ATTEMPTS: Final = 5


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
        progress: Callable[[int, int], None],
    ) -> Imported:
        """Record conversations; entries whose ids are stored already are skipped, as are conversations without any.

        *progress* gets (conversations recorded, all conversations).

        Raises:
            ImportRefused: a line cannot be read, or the file changed meanwhile.
            SessionExists: a session of that name starts with other entries.
            Unavailable: other writers kept changing the same sessions.
        """
        conversations: Iterable[AnyConversation] = found

        async def attempt(number: int) -> Imported:
            targets = [await self._target(conversation, config, user_id) for conversation in conversations]
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
            names += dict.fromkeys(chain(*(target.forks for target in targets), tally.forks))
            return Imported(
                sessions=len(names),
                entries=tally.entries.total(),
                skipped=sum(len(target.known) for target in targets),
                session_ids=tuple(names),
                other_lines=dict(tally.other_lines.most_common()),
                notes=tuple(chain(*(target.notes for target in targets), tally.notes)),
            )

        busy = "other writers kept changing the sessions of this file; try again"
        return await until_uncontended(attempt, attempts=_ATTEMPTS, message=busy)

    async def _target(self, found: AnyConversation, config: MemoryConfig, user_id: str | None) -> Target:
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
            return Target(stream, state, own, tuple(opening))
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
        return Target(
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
