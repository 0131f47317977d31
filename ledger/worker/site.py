"""What working in one namespace needs, wired over a store."""

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

import msgspec

from ledger.compaction.compactor import Compactor
from ledger.compaction.summarizing import DEADLINE_S
from ledger.errors import EmbedderFailed, Unavailable
from ledger.ids import Stream, namespace_id
from ledger.jobs import Backlogs, JobIndex, WorkPlan
from ledger.ports import Clock, Store, Summarizer
from ledger.ports.search import Embedder, SearchLanguage
from ledger.records import LongTermMemory, RecordIndexes
from ledger.replay.builds import Builds
from ledger.replay.session_index import SessionIndex
from ledger.replay.states import States
from ledger.search.finding import Finder
from ledger.search.index import SearchIndex
from ledger.session.state import SessionState
from ledger.writing import Writer
from projections.backlog import Backlog

T = TypeVar("T")
log = logging.getLogger("ledger")

ACTOR: Final = "worker"
_PRUNED_EVERY: Final = timedelta(hours=1)
_REQUESTS_KEPT_DAYS: Final = 7  # trust R-6
_ATTEMPTS: Final = 50  # each lost attempt means that somebody else's append went through


class Tools(msgspec.Struct, frozen=True):
    """What all namespaces share."""

    store: Store
    clock: Clock
    summarizer: Summarizer
    plan: WorkPlan
    embedder: Embedder | None = None
    language: SearchLanguage = "simple"
    deadline_s: float = DEADLINE_S

    @property
    def extracts(self) -> bool:
        """Whether there is a model: memories are made by nobody else."""
        return self.summarizer.method == "llm"


class Site:
    """One namespace: its sessions, its jobs, its long-term memory."""

    def __init__(self, tools: Tools, *, namespace: str) -> None:
        self.tools = tools
        self.namespace = namespace
        store, clock = tools.store, tools.clock
        self.store = store
        self.states = States(store)
        self.backlogs = Backlogs(store)
        self.writer = Writer(store, self.states, clock, actor=ACTOR)
        self.compactor = Compactor(
            store,
            self.writer,
            clock,
            lease_s=tools.plan.compaction_lease_s,
            completed=lambda stream, result: None,
            deadline_s=tools.deadline_s,
        )
        self.compactor.set_summarizer(None, tools.summarizer)
        self.memory = LongTermMemory(
            store,
            namespaces=[namespace],
            default_namespace=namespace,
            actor=ACTOR,
            clock=clock,
            language=tools.language,
            embedder=tools.embedder,
        )
        self.space = namespace_id(namespace)
        self._prune_at = clock.now()
        self._records = RecordIndexes(store, clock, language=tools.language)
        self._builds = Builds(store, clock, namespace_id=self.space)
        self._jobs = JobIndex(store, self.states, self.backlogs, namespace=namespace, plan=tools.plan)
        self._sessions = SessionIndex(store, self.states, self._builds, namespace=namespace)
        self._search = SearchIndex(
            store, self._builds, namespace=namespace, language=tools.language, embedder=tools.embedder
        )
        self._finder = Finder(store, self._search, namespace=namespace)

    async def ask_jobs(self, question: Callable[[int], Awaitable[T]], *, empty: T) -> T:
        """Return what *question* finds among the jobs there are as of the namespace's newest event."""
        return await self._builds.read(self._jobs, question, empty=empty)

    async def keep_up(self) -> None:
        """Bring listings, search and long-term memory up to date, so that whoever reads next need not."""
        for projection in (self._sessions, self._search):
            await self._builds.read(projection, _nothing, empty=None)
        await self._records.read([self.space], _nothing_of_all)
        now = self.tools.clock.now()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNED_EVERY
            await self.store.prune_requests(self.space, days=_REQUESTS_KEPT_DAYS)
        if self.tools.embedder is not None:
            try:
                await self._finder.embed()
                await self.memory.embed_pending()
            except EmbedderFailed as fault:  # texts are found by their words until then
                log.warning("embeddings are behind: %s", fault.code)

    async def read(self, stream: Stream) -> tuple[SessionState, Backlog]:
        """Return a session and what is left to do there, as of one version.

        Raises:
            Unavailable: it was written to faster than it could be read.
        """
        for _ in range(_ATTEMPTS):
            backlog = await self.backlogs.current(stream)
            state = await self.states.current(stream)
            if state.version == backlog.version:
                return state, backlog
        raise Unavailable("the session changes faster than it can be read; try again")

    async def close(self) -> None:
        """Give up compactions under way, which is recorded."""
        await self._finder.close()
        await self.compactor.close(grace_s=0)
        await self.writer.settle()


async def _nothing(build: int) -> None:
    """Ask nothing: to read is to catch up."""


async def _nothing_of_all(builds: object, names: object) -> None:
    """Ask nothing of many namespaces."""
