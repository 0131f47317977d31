"""The search index: a stored projection of the namespace's texts, caught up by each reader (style §4).

log ──── advance, page by page ────▶ pieces with their words ──── find ────▶ hits, by reference
                                          │  later, in the background
                                          └──── embed ────▶ vectors, fused with the ranking by words
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from msgspec.structs import replace
from pydantic import ValidationError

from ledger.errors import EmbedderFailed, LogCorrupted
from ledger.events import CompactionCompleted, CompactionRequested, RecordedEvent, StoredEvent
from ledger.events.chain import check_positions
from ledger.events.codec import decode
from ledger.events.ids import Stream, namespace_id
from ledger.history.batched_reads import BatchedReads
from ledger.history.fold_results import fold_digest
from ledger.indexes.search import knowledge
from ledger.indexes.stored_projections.build_choice import live_build
from ledger.indexes.stored_projections.builds import Builds
from ledger.indexes.stored_projections.log_pages import PAGE_BYTES
from ledger.ports import Store
from ledger.ports.language_models import QueryEmbedder
from ledger.ports.search_index import SEARCH, PieceHit, SearchQuery, StreamChange
from projections.strategies.summarizer import SummarizerStrategy
from projections.values.ranges import ranges_of
from projections.words import searchable_text
from projections.words.languages import LANGUAGES, SearchLanguage
from projections.words.ranking import DEFAULT_RANKING, FUSED, Ranking, fuse
from projections.words.searchable_text import Piece

T = TypeVar("T")
log = logging.getLogger("ledger")

VERSION: Final = 6  # raise it when a row's meaning changes: a new build is then made beside the old one
_PAGE: Final = 1_000  # events indexed in one transaction
_EMBED_BATCH: Final = 64
_EMBED_PAGE: Final = 256  # looking for pieces without a vector reads the whole index
_NEAR: Final = 200  # most compactions complete within so many events after their request


class Answer(NamedTuple):
    """The hits, best first, and the build they are from."""

    build: int
    hits: list[PieceHit]


class SearchIndex:
    """The texts of one namespace by words and, with an embedder, by vectors; a `builds.StoredProjection`."""

    name: Final = SEARCH
    keeps: Final = "entries and summaries by words and meanings, for search"

    def __init__(
        self,
        store: Store,
        builds: Builds,
        *,
        namespace: str,
        reads: BatchedReads,
        language: SearchLanguage = "auto",
        ranking: Ranking = DEFAULT_RANKING,
        embedder: QueryEmbedder | None = None,
    ) -> None:
        self._store = store
        self._reads = reads
        self._builds = builds
        self._namespace = namespace
        self._namespace_id = namespace_id(namespace)
        self.language: SearchLanguage = language
        self.ranking = ranking
        self._embedder = embedder
        self._embedded_until: int | None = None  # the namespace's newest event when every text had a vector
        self._warned = False

    @property
    def version(self) -> int:
        """The version of a row's meaning, which depends on the language."""
        return VERSION * 100 + LANGUAGES.index(self.language)

    @property
    def embeds(self) -> bool:
        """Whether there is an embedder."""
        return self._embedder is not None

    @cached_property
    def code_digest(self) -> bytes:
        """The digest of the code that turns events into rows."""
        return fold_digest(self.name, self.version)

    async def advance(self, build: int, *, after: int, limit: int) -> int | None:
        """See `builds.StoredProjection.advance`."""
        events = await self._store.events.read_namespace(
            self._namespace_id, after=after, limit=min(limit, _PAGE), most_bytes=PAGE_BYTES
        )
        check_positions(events, after=after)
        read = [(stored.stream_id, event) for stored in events if (event := _readable(stored)) is not None]
        requests = {
            event.payload.compaction_id: event.payload
            for _, event in read
            if isinstance(event.payload, CompactionRequested)
        }
        found = await self._reads.gather(self._changes(stream_id, event, requests) for stream_id, event in read)
        changes = [change for of_event in found for change in of_event]
        position = events[-1].position if events else after
        return await self._store.search.apply(
            self._namespace_id, build, changes, after=after, position=position, language=self.language
        )

    async def prune(self) -> int:
        """See `builds.StoredProjection.prune`."""
        return await self._store.search.prune(self._namespace_id)

    async def find(self, query: SearchQuery, *, catch_up: bool = True) -> Answer:
        """Return the best hits, as of the namespace's newest event unless *catch_up* is false.

        With an embedder the score is that of the fused rankings; texts without a vector are found by words.
        """
        ranking = query.ranking or self.ranking
        wanted = replace(query, language=self.language, ranking=ranking)
        vector = await self._vector(query.text)

        async def found(build: int) -> Answer:
            if vector is None or self._embedder is None:
                return Answer(build, await self._store.search.find(self._namespace_id, build, wanted))
            more = replace(wanted, limit=max(FUSED, wanted.limit))
            by_words = await self._store.search.find(self._namespace_id, build, more)
            near = await self._store.search.find_similar(self._namespace_id, build, more, self._embedder.model, vector)
            similar = {hit.key: hit.score for hit in near}
            known = {hit.key: hit for hit in (*near, *by_words)}
            ranked = fuse([(hit.key, hit.score) for hit in by_words], list(similar.items()), ranking)
            hits = [
                replace(known[place], score=score, similarity=similar.get(place))
                for place, score in ranked[: wanted.limit]
            ]
            return Answer(build, hits)

        return await self._live(found, Answer(0, []), catch_up=catch_up)

    async def embed(self, text_of: Callable[[Sequence[PieceHit]], Awaitable[list[str]]]) -> int:
        """Embed pieces that have no vector yet, page by page, with texts from *text_of*; return how many.

        Raises:
            EmbedderFailed: the model returned nothing usable; vectors stored before it stay.
        """
        embedder, done = self._embedder, 0
        if embedder is None or not await self._stores_embeddings():
            return 0

        async def pending(build: int) -> list[PieceHit]:
            return await self._store.search.to_embed(self._namespace_id, build, embedder.model, limit=_EMBED_PAGE)

        nothing: list[PieceHit] = []
        last, _ = await self._builds.checkpoints()
        if last == self._embedded_until:
            return 0
        while page := await self._live(pending, nothing, catch_up=not done):
            for first in range(0, len(page), _EMBED_BATCH):
                hits = page[first : first + _EMBED_BATCH]
                vectors = await embedder.embed(await text_of(hits))
                await self._store.search.save_embeddings(
                    self._namespace_id, embedder.model, list(zip(hits, vectors, strict=True))
                )
                done += len(hits)
        self._embedded_until = last
        return done

    async def _live(self, question: Callable[[int], Awaitable[T]], empty: T, *, catch_up: bool) -> T:
        if catch_up:
            return await self._builds.read(self, question, empty=empty)
        last, builds = await self._builds.checkpoints()
        live = live_build(self, builds, last=last)
        return empty if live is None else await question(live.build)

    async def _stores_embeddings(self) -> bool:
        stores = await self._store.search.stores_embeddings()
        if not stores and not self._warned:
            self._warned = True
            log.warning("an embedder is set, but this database has no pgvector: search uses words only")
        return stores

    async def _vector(self, text: str) -> list[float] | None:
        """Return the vector of a query; None without an embedder, or if it fails: the search then uses words."""
        if self._embedder is None or not text.strip() or not await self._stores_embeddings():
            return None
        try:
            return await self._embedder.embed_query(text)
        except EmbedderFailed as fault:
            log.warning("search uses words only: %s", fault)
            return None

    async def _changes(
        self, stream_id: UUID, event: RecordedEvent, requests: Mapping[str, CompactionRequested]
    ) -> list[StreamChange]:
        if needed := searchable_text.needs(event):
            pieces = searchable_text.pieces_again(event, await self._earlier(stream_id, needed))
        else:
            pieces = await self._knowledge(stream_id, event, requests)
        return [StreamChange(stream_id, event.version, change) for change in searchable_text.changes(event, pieces)]

    async def _earlier(self, stream_id: UUID, versions: Sequence[int]) -> dict[int, RecordedEvent]:
        """Return the readable events of a session, or of those that it was forked from, at *versions*."""
        stream = Stream(self._namespace, "", "", self._namespace_id, stream_id)
        stored = await self._reads.store.events.read_versions(stream, ranges_of(versions))
        return {event.version: event for each in stored if (event := _readable(each)) is not None}

    async def _knowledge(
        self, stream_id: UUID, event: RecordedEvent, requests: Mapping[str, CompactionRequested]
    ) -> list[Piece]:
        """Return the pieces of a summary for a knowledge base (R-KB-3)."""
        payload = event.payload
        if not isinstance(payload, CompactionCompleted) or payload.strategy != "summarizer" or not payload.summary_id:
            return []
        request = requests.get(payload.compaction_id) or await self._request(stream_id, event.version, payload)
        try:
            config = SummarizerStrategy.model_validate(request.config) if request else SummarizerStrategy()
        except ValidationError:  # of a newer release, which will index it
            log.warning("the config of compaction %s is not known here", payload.compaction_id)
            return []
        if config.knowledge_base is None:
            return []
        splitter = config.text_splitter
        return [
            Piece(
                version=event.version,
                kind="knowledge",
                number=number,
                position=event.position,
                first_character=first,
                text=text,
                item_id=payload.summary_id,
                collection=config.knowledge_base.collection_id,
            )
            for number, (first, text) in enumerate(
                knowledge.split(payload.text, size=splitter.chunk_size, overlap=splitter.chunk_overlap)
            )
        ]

    async def _request(
        self, stream_id: UUID, version: int, completed: CompactionCompleted
    ) -> CompactionRequested | None:
        """Return the request of *completed*; None for an imported summary."""
        stream = Stream(self._namespace, "", "", self._namespace_id, stream_id)
        until, span = version - 1, _NEAR
        while until > 0:
            first = max(1, until - span + 1)
            for stored in reversed(await self._reads.store.events.read_versions(stream, ((first, until),))):
                payload = decode(stored).payload
                if isinstance(payload, CompactionRequested) and payload.compaction_id == completed.compaction_id:
                    return payload
            until, span = first - 1, span * 4
        return None


def _readable(stored: StoredEvent) -> RecordedEvent | None:
    try:
        return decode(stored)
    except LogCorrupted as fault:  # `verify` reports it; other texts stay findable
        log.warning("event %d is not indexed: %s", stored.position, fault)
        return None
