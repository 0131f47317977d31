"""The one wiring: all that use cases need, built once per store for all of its namespaces."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from ledger.application.background.compactor import Compactor
from ledger.application.commands.command_handler import CommandHandler
from ledger.application.notifications import Notifications
from ledger.errors import Unavailable
from ledger.events.clock import SystemClock
from ledger.events.ids import namespace_id
from ledger.history.batched_reads import BatchedReads
from ledger.history.snapshots import SESSIONS, VIEW_STATES
from ledger.history.state_loading import States
from ledger.indexes.search.finder import Finder
from ledger.indexes.search.index_builds import SearchIndex
from ledger.indexes.search.knowledge import check_usable
from ledger.indexes.stored_projections.builds import Builds
from ledger.indexes.stored_projections.catch_ups import CatchUps
from ledger.indexes.stored_projections.registry import StoredProjections
from ledger.indexes.stored_projections.session_indexes import SessionIndexes
from ledger.indexes.stored_projections.session_list import SessionIndex
from ledger.llm.embedders import configured_embedder
from ledger.llm.prices import Prices, load_prices
from ledger.llm.summarizers import SummarizerChoice, chosen_summarizer, configured_summarizer
from ledger.llm.summarizers.model_answers import DEADLINE_S, CountedEmbedder, ModelCalls
from ledger.long_term_memory import LongTermMemory, RecordIndexes
from ledger.ports import Clock, Store
from ledger.ports.language_models import Embedder
from ledger.replay.what_if.recorded_answers import KnownAnswers
from ledger.settings import Secret, Settings
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from projections.words.languages import SearchLanguage
from projections.words.ranking import DEFAULT_RANKING, Ranking

CLOSE_GRACE_S = 5.0
_CACHED_STATES: Final = 1_024
_CACHED_VIEWS: Final = 64


class Indexes:
    """The stored projections of one namespace, and search in them."""

    def __init__(self, services: "Services", namespace: str) -> None:
        store, own = services.store, namespace_id(namespace)
        self.builds = Builds(
            store,
            services.clock,
            namespace_id=own,
            catch_ups=services.catch_ups,
            patience_s=services.index_patience_s,
        )
        self.sessions = SessionIndex(store, services.states, self.builds, namespace=namespace, reads=services.reads)
        self.texts = SearchIndex(
            store,
            self.builds,
            namespace=namespace,
            reads=services.reads,
            language=services.language,
            ranking=services.ranking,
            embedder=services.embedder,
        )
        self.finder = Finder(store, self.texts, namespace=namespace)
        self._services = services
        self._namespace_id = own

    @cached_property
    def projections(self) -> StoredProjections:
        """All stored projections of the namespace, by name."""
        _, records = self._services.record_indexes.of(self._namespace_id)
        return StoredProjections(self.builds, self.sessions, self.texts, records)


class Services:
    """The parts that use cases share; `open_services` creates them from settings.

    *config* is the memory config of new sessions. With *reconstruct*, the next write resumes an expired session. The
    `Indexes` of at most *open_namespaces* namespaces stay in memory. After *index_patience_s* a reader of an index that
    is being brought up to date gets `IndexBehind`; without it, the reader waits.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        config: Mapping[str, Any] | MemoryConfig | None = None,
        summarizer: SummarizerChoice = None,
        embedder: Embedder | None = None,
        search_language: SearchLanguage = "auto",
        search_ranking: Ranking = DEFAULT_RANKING,
        prices: Prices | None = None,
        compaction_lease_s: float = 600.0,
        summarizer_timeout_s: float = DEADLINE_S,
        reconstruct: bool = False,
        open_namespaces: int = 256,
        index_patience_s: float | None = None,
    ) -> None:
        self.store = store
        self.clock = clock or SystemClock()
        self.config = check_usable(memory_config.load({} if config is None else config))
        self.models = ModelCalls(summarizer_timeout_s)
        self.embedder = None if embedder is None else CountedEmbedder(embedder, self.models)
        self.language: SearchLanguage = search_language
        self.ranking = search_ranking
        self.prices = prices or load_prices()
        self.compaction_lease_s = compaction_lease_s
        self.reconstruct = reconstruct
        self.index_patience_s = index_patience_s
        self.reads = BatchedReads(store)
        self.states = States(self.reads.store, SESSIONS, capacity=_CACHED_STATES)
        self.summary_views = States(self.reads.store, VIEW_STATES, capacity=_CACHED_VIEWS)
        self.catch_ups = CatchUps()
        self.commands = CommandHandler(store, self.states, self.clock)
        self.notifications = Notifications()
        self.what_if_answers: dict[str, KnownAnswers] = {}
        self.compactor = Compactor(
            store,
            self.states,
            self.commands,
            self.clock,
            lease_s=compaction_lease_s,
            completed=lambda stream, result: self.notifications.notify(
                stream.namespace, "compressed", stream.session_id, result
            ),
            failed=lambda stream, failure: self.notifications.notify(
                stream.namespace, "compaction:failed", stream.session_id, failure
            ),
            models=self.models,
            tried=self.what_if_answers,
        )
        if summarizer is not None:
            self.compactor.set_summarizer(None, chosen_summarizer(summarizer))
        self.session_indexes = SessionIndexes(
            store, self._listed_alone, catch_ups=self.catch_ups, patience_s=index_patience_s
        )
        self.record_indexes = RecordIndexes(
            store, self.clock, language=search_language, catch_ups=self.catch_ups, patience_s=index_patience_s
        )
        self.long_term = LongTermMemory(
            store,
            namespaces=(),
            clock=self.clock,
            language=search_language,
            embedder=self.embedder,
            indexes=self.record_indexes,
        )
        self._indexes: OrderedDict[str, Indexes] = OrderedDict()
        self._open_namespaces = open_namespaces
        self.names_by_id: dict[UUID, str] = {}  # a namespace never changes its name
        self._closed = False
        self._pid = os.getpid()

    def indexes(self, namespace: str) -> Indexes:
        """Return the stored projections of a namespace; those least recently used may be dropped."""
        indexes = self._indexes.get(namespace)
        if indexes is None:
            indexes = self._indexes[namespace] = Indexes(self, namespace)
            idle = [name for name, old in self._indexes.items() if name != namespace and not old.finder.is_embedding]
            for name in idle[: max(0, len(self._indexes) - self._open_namespaces)]:
                del self._indexes[name]
        self._indexes.move_to_end(namespace)
        return indexes

    async def _listed_alone(self, namespace_id: UUID) -> tuple[int, int] | None:
        """Catch up the session index of one namespace; return its build and position."""
        info = await self.store.events.namespace(namespace_id)
        if info is None:
            return None
        indexes = self.indexes(info.namespace)
        return await indexes.builds.caught_up(indexes.sessions)

    def check_open(self) -> None:
        """Refuse to use services that this process cannot use.

        Raises:
            Unavailable: the services are closed, or this process was forked after they were opened.
        """
        if self._pid != os.getpid():
            raise Unavailable("the ledger was opened in another process, before a fork; open it in this process")
        if self._closed:
            raise Unavailable("the ledger is closed; open it again")

    async def close(self) -> None:
        """Finish running work; a compaction that takes too long is cancelled, which is recorded."""
        if self._pid != os.getpid():  # the connections are the parent's
            return
        await self.compactor.close(grace_s=CLOSE_GRACE_S)
        await self.notifications.settle()  # handlers may still use the ledger
        self._closed = True
        await self.catch_ups.close()
        await asyncio.gather(*(indexes.finder.close() for indexes in self._indexes.values()))
        await self.compactor.close(grace_s=CLOSE_GRACE_S)  # compactions that the handlers started
        await self.commands.settle()


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    store: Store | None = None,
    clock: Clock | None = None,
    config: Mapping[str, Any] | MemoryConfig | None = None,
    summarizer: SummarizerChoice = None,
    summarizer_model: str | None = None,
    embedder: Embedder | None = None,
    reconstruct: bool = False,
    open_namespaces: int = 256,
    index_patience_s: float | None = None,
    group_commit: bool = True,
    allow_unsafe: bool = False,
    password: Secret | None = None,
) -> AsyncIterator[Services]:
    """Open the store that *settings* name, unless *store* is given, and wire the services; close what was opened here.

    Without *summarizer* or *embedder* the settings' models are used; *summarizer_model* is used if the settings name
    only an endpoint or a key.

    Raises:
        InvalidInput: a setting, or *config*, is wrong.
        DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
    """
    opened_by = os.getpid()
    model = configured_summarizer(settings, model=summarizer_model) if summarizer is None else None
    vectors = configured_embedder(settings) if embedder is None else None
    own = store
    if own is None:
        from ledger.stores.factory import open_store  # noqa: PLC0415 - SQLAlchemy, which other stores do not need

        own = await open_store(settings, group_commit=group_commit, allow_unsafe=allow_unsafe, password=password)
    try:
        services = Services(
            own,
            clock=clock,
            config=config,
            summarizer=model if summarizer is None else summarizer,
            embedder=embedder or vectors,
            search_language=settings.search_language,
            search_ranking=settings.search_ranking or DEFAULT_RANKING,
            prices=load_prices(settings.prices),
            compaction_lease_s=settings.compaction_lease_s,
            summarizer_timeout_s=settings.summarizer_timeout_s,
            reconstruct=reconstruct,
            open_namespaces=open_namespaces,
            index_patience_s=index_patience_s,
        )
        try:
            yield services
        finally:
            await services.close()
    finally:
        if opened_by == os.getpid():  # a forked child leaves its parent's connections alone
            for client in (model, vectors):
                if client is not None:
                    await client.close()
            if store is None:
                await own.close()
