"""Import transcripts: a whole file in one transaction, each entry once."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, TypeAlias

import msgspec

from ledger.contention import until_uncontended
from ledger.errors import ImportRefused, SessionExists
from ledger.event_encoding import append_request
from ledger.events import Event, ImportedFrom
from ledger.ids import Stream
from ledger.importers import Conversation, ConversationReader, TranscriptFile
from ledger.importers.base import is_imported
from ledger.names import named_stream
from ledger.ports import AppendRequest, Clock, Store
from ledger.session.commands import OpenSession
from ledger.session.decisions import decide
from ledger.session.state import SessionState
from ledger.states.loading import States
from ledger.tokenizers import entry_event
from ledger.transfer.importing import REQUEST_EVENTS, Imported, Rereadable
from ledger.transfer.reader import FILE_CHANGED
from projections.config import MemoryConfig

_ATTEMPTS: Final = 5
_AnyConversation: TypeAlias = Conversation | ConversationReader


class _Target(msgspec.Struct, frozen=True):
    """The session that a conversation becomes: where it goes on, and the ids of its entries that are stored already."""

    stream: Stream
    version: int
    tokenizer: str
    opening: tuple[Event, ...]
    known: frozenset[str] = frozenset()
    complete: bool = False


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
        conversations: Iterable[_AnyConversation] = found

        async def attempt(number: int) -> Imported:
            targets = [await self._target(conversation, config, user_id) for conversation in conversations]
            added: Counter[str] = Counter()

            def requests() -> Iterator[AppendRequest]:
                added.clear()  # a transaction that is repeated begins anew
                again = iter(conversations)
                for done, target in enumerate(targets):
                    progress(done, len(targets))
                    conversation = next(again, None)
                    if conversation is None or conversation.session_id != target.stream.session_id:
                        raise ImportRefused("changed", FILE_CHANGED)
                    if not target.complete:
                        yield from self._requests(conversation, target, added)
                progress(len(targets), len(targets))

            if not all(target.complete for target in targets):
                await self._store.events.append_all(Rereadable(requests))
            names = [name for target in targets if (name := target.stream.session_id) in added or target.known]
            return Imported(
                sessions=len(names),
                entries=added.total(),
                skipped=sum(len(target.known) for target in targets),
                session_ids=tuple(names),
            )

        busy = "other writers kept changing the sessions of this file; try again"
        return await until_uncontended(attempt, attempts=_ATTEMPTS, message=busy)

    async def _target(self, found: _AnyConversation, config: MemoryConfig, user_id: str | None) -> _Target:
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
        tokenizer = (config if opening else state.config).tokenizer
        if not state.version:
            return _Target(stream, 0, tokenizer, tuple(opening))
        known: set[str] = set()
        ids = (draft.entry_id or "" for batch in found.batches for draft in batch)
        complete = True
        while page := list(islice(ids, REQUEST_EVENTS)):
            stored = await self._store.events.find_items(stream, page)
            for entry_id in page:
                if entry_id in stored and not complete:
                    raise SessionExists(found.session_id)  # the file was changed before what is stored of it
                complete = complete and entry_id in stored
            known.update(stored)
        if not complete and (not known or await self._states.view(stream, state, lambda: _has_others(state, known))):
            raise SessionExists(found.session_id)
        return _Target(stream, state.version, tokenizer, tuple(opening), frozenset(known), complete)

    def _requests(self, found: _AnyConversation, target: _Target, added: Counter[str]) -> Iterator[AppendRequest]:
        """Yield the appends to one session, a few hundred events each; *added* counts its entries."""
        entries = self._new_entries(found, target)
        first = next(entries, None)
        if first is None:
            return
        events = chain(target.opening, [first], entries)
        version = target.version
        while page := list(islice(events, REQUEST_EVENTS)):
            yield append_request(target.stream, page, expected_version=version, clock=self._clock, actor=self._actor)
            added[target.stream.session_id] += len(page) - (len(target.opening) if version == target.version else 0)
            version += len(page)

    def _new_entries(self, found: _AnyConversation, target: _Target) -> Iterator[Event]:
        for batch in found.batches:
            write_id = self._clock.ulid()
            for draft in batch:
                entry_id = draft.entry_id or ""
                if entry_id not in target.known:
                    yield entry_event(draft, write_id=write_id, entry_id=entry_id, tokenizer=target.tokenizer)


def _has_others(state: SessionState, known: Container[str]) -> bool:
    """Tell whether the session holds imported entries that are not *known*: those of another file."""
    imported = (entry.entry_id for entry in state.window.entries if is_imported(entry.entry_id))
    return any(entry_id not in known for entry_id in imported)
