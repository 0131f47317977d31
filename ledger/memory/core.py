"""What all methods of a ledger share: the wiring of the adapters, names, and the way to the log."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ledger.canonical import canonical_json
from ledger.chain import request_hash
from ledger.clock import SystemClock
from ledger.compaction.compactor import Compactor
from ledger.compaction.result import CompactionResult
from ledger.compaction.summarizing import DEADLINE_S
from ledger.errors import InvalidInput, SessionNotFound, Unavailable, VersionNotFound
from ledger.events import EntryAdded
from ledger.ids import Stream, namespace_id, request_id
from ledger.names import check_idempotency_key, check_name, named_stream
from ledger.ports import Clock, Store
from ledger.ports.search import Embedder, SearchLanguage
from ledger.prices import Prices, load_prices
from ledger.records import LongTermMemory, RecordIndex
from ledger.replay.builds import Builds
from ledger.replay.session_index import SessionIndex
from ledger.replay.states import States
from ledger.replay.stored_projections import StoredProjections
from ledger.results import Guard, Notification, Version
from ledger.search.finding import Finder
from ledger.search.index import SearchIndex
from ledger.search.knowledge import check_usable
from ledger.session.commands import Command, OpenSession, RestoreSession
from ledger.session.drafts import EntryDraft
from ledger.session.state import SessionState
from ledger.strict_json import check_integer
from ledger.tokenizers import entry_event
from ledger.transfer.importing import FileImport
from ledger.whatif.answers import Known
from ledger.writing import CommandsFor, Idempotency, Writer, Written
from projections import config as memory_config
from projections.config import MemoryConfig

log = logging.getLogger("ledger")

CLOSE_GRACE_S = 5.0


def version_of(written: Written) -> Version:
    """Return the version that *written* led to."""
    return Version(written.version, replayed=written.replayed)


def check_guard(guard: Guard) -> tuple[int | None, str | None]:
    """Return the expected version and the idempotency key in *guard*.

    Raises:
        InvalidInput: one of them is none, or there is something else.
    """
    unknown = guard.keys() - Guard.__annotations__.keys()
    if unknown:
        raise InvalidInput(
            "unknown_field", f"writing takes {', '.join(Guard.__annotations__)}", field=min(unknown)[:80]
        )
    expected_version, key = guard.get("expected_version"), guard.get("idempotency_key")
    if expected_version is not None:
        check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    return expected_version, None if key is None else check_idempotency_key(key)


class Core:
    """A ledger over a store, without its methods."""

    def __init__(
        self,
        store: Store,
        *,
        namespace: str = "default",
        actor: str = "",
        config: Mapping[str, Any] | MemoryConfig | None = None,
        compaction_lease_s: float = 600.0,
        summarizer_timeout_s: float = DEADLINE_S,
        clock: Clock | None = None,
        prices: Prices | None = None,
        search_language: SearchLanguage = "simple",
        embedder: Embedder | None = None,
        reconstruct: bool = False,
    ) -> None:
        self._store = store
        self._namespace = check_name(namespace, field="namespace")
        self._actor = check_name(actor, field="actor", may_be_empty=True)
        self._config = check_usable(memory_config.load(config or {}))
        self._clock = clock or SystemClock()
        self._deadline_s = summarizer_timeout_s
        self._reconstruct = reconstruct  # whether an expired session comes back (http W-22)
        self._prices = prices or load_prices()
        self._answers: dict[str, Known] = {}  # what models answered to questions of a what-if
        self._states = States(store)
        self._writer = Writer(store, self._states, self._clock, actor=actor)
        self._compactor = Compactor(
            store,
            self._writer,
            self._clock,
            lease_s=compaction_lease_s,
            completed=self._compressed,
            deadline_s=summarizer_timeout_s,
        )
        builds = Builds(store, self._clock, namespace_id=namespace_id(namespace))
        self._index = SessionIndex(store, self._states, builds, namespace=namespace)
        searched = SearchIndex(store, builds, namespace=namespace, language=search_language, embedder=embedder)
        self._finder = Finder(store, searched, namespace=namespace)
        self._records = LongTermMemory(
            store,
            namespaces=[namespace],
            default_namespace=namespace,
            actor=actor,
            clock=self._clock,
            language=search_language,
            embedder=embedder,
        )
        remembered = RecordIndex(store, builds, space=namespace_id(namespace), language=search_language)
        self._projections = StoredProjections(builds, self._index, searched, remembered)
        self._imports = FileImport(store, self._states, self._writer, self._clock, namespace=namespace)
        self._handlers: dict[str, list[Callable[..., object]]] = {}
        self._handling: set[asyncio.Task[object]] = set()
        self._closed = False

    async def close(self) -> None:
        """Finish what is under way; a compaction that does not end soon is given up, which is recorded."""
        await self._compactor.close(grace_s=CLOSE_GRACE_S)
        await asyncio.gather(*self._handling, return_exceptions=True)  # they may still use the ledger
        self._closed = True
        await self._finder.close()
        await self._compactor.close(grace_s=CLOSE_GRACE_S)  # what they have begun
        await self._writer.settle()

    @property
    def long_term(self) -> LongTermMemory:
        """What outlives sessions: the records of this namespace."""
        self._check_open()
        return self._records

    def _check_open(self) -> None:
        """Refuse what would open the store's connections again (those with a session pass `_stream`)."""
        if self._closed:
            raise Unavailable("the ledger is closed; open it again")

    def _stream(self, session_id: str, user_id: str | None) -> Stream:
        self._check_open()
        return named_stream(self._namespace, session_id, "" if user_id is None else user_id)

    async def _existing(self, session_id: str, user_id: str | None, *, version: int | None = None) -> Stream:
        """Return the stream of a session that has events, and *version*.

        Raises:
            SessionNotFound: it has none.
            VersionNotFound: it has no such version.
            InvalidInput: the version is no integer.
        """
        stream = self._stream(session_id, user_id)
        head, _ = await self._store.head(stream)
        if not head:
            raise SessionNotFound(session_id)
        if version is not None and not 1 <= check_integer(version, field="version") <= head:
            raise VersionNotFound(f"the session has versions 1 to {head}")
        return stream

    def _opening(self, stream: Stream, state: SessionState, config: MemoryConfig | None = None) -> list[Command]:
        """Return the command that begins the session's life, or resumes it, unless it lives (http W-60)."""
        if not self._begins(state):
            return self._resuming(state)
        return [
            OpenSession(
                write_id=self._clock.ulid(),
                namespace=stream.namespace,
                user_id=stream.user_id,
                session_id=stream.session_id,
                config=config or self._config,
                anew=True,
            )
        ]

    def _resuming(self, state: SessionState) -> list[Command]:
        """Return the command that resumes an expired session before it is written to; none for one that lives."""
        expired = state.working.ttl_seconds is not None and state.has_expired(self._clock.now())
        return [RestoreSession(self._clock.ulid())] if expired and not self._begins(state) else []

    def _begins(self, state: SessionState) -> bool:
        """Tell whether what is written now is the first of another life."""
        if not state.opened:
            return True
        if state.working.ttl_seconds is None or self._reconstruct:
            return False
        return state.has_expired(self._clock.now())

    def _event(self, draft: EntryDraft, write_id: str, state: SessionState) -> EntryAdded:
        """Return *draft* with an id and a count, as an event."""
        config = self._config if self._begins(state) else state.config
        return entry_event(
            draft,
            write_id=write_id,
            entry_id=draft.entry_id or self._clock.ulid(),
            tokenizer=config.tokenizer,
        )

    def _idempotency(self, stream: Stream, operation: str, body: object, key: str | None) -> Idempotency | None:
        """Return what tells a repetition of *operation* with *body*, JSON as it was validated (trust R-6).

        Raises:
            InvalidInput: ``bad_idempotency_key``.
        """
        if key is None:
            return None
        name = request_id(stream.stream_id, self._actor, check_idempotency_key(key))
        return Idempotency(name, request_hash(operation, canonical_json(body)))

    async def _change(
        self,
        stream: Stream,
        commands_for: CommandsFor,
        operation: str,
        body: object,
        guard: Guard,
    ) -> Written:
        """Write what *commands_for* asks, once for each key, and only at the expected version if there is one."""
        expected_version, key = check_guard(guard)
        idempotency = self._idempotency(stream, operation, body, key)
        return await self._writer.write(
            stream, commands_for, expected_version=expected_version, idempotency=idempotency
        )

    def _always(self, command: Callable[[str], Command]) -> CommandsFor:
        """Return what asks for one command, made with a new write id, whatever the state."""

        async def commands_for(state: SessionState) -> Sequence[Command]:
            return [command(self._clock.ulid())]

        return commands_for

    def _compressed(self, stream: Stream, result: CompactionResult) -> None:
        self._notify("compressed", stream.session_id, result)

    def _notify(self, event: Notification, session_id: str, *about: object) -> None:
        """Call the handlers of *event*; one that fails harms neither the others nor the caller (R-CMP-11)."""
        for handler in tuple(self._handlers.get(event, ())):
            try:
                outcome = handler(session_id, *about)
                if inspect.iscoroutine(outcome):
                    task = asyncio.create_task(outcome)
                    self._handling.add(task)
                    task.add_done_callback(self._handled)
            except Exception:  # a handler is the user's code
                log.exception("a handler of %s failed", event)

    def _handled(self, task: asyncio.Task[object]) -> None:
        self._handling.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a handler failed", exc_info=task.exception())
