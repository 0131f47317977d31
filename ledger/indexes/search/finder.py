"""Query the search index, and read what it found from the log: for callers, and for a window."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from ledger.errors import LedgerError, Unreadable
from ledger.events import KnowledgeSource
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.entry_reads import TextSource, read_entries, read_recalled, read_summaries
from ledger.indexes.search.index_builds import SearchIndex
from ledger.indexes.search.search_results import SearchResult, as_knowledge, result_at
from ledger.llm.tokenizers import TOKENIZERS
from ledger.ports import Store
from ledger.ports.search_index import PieceHit, SearchQuery
from ledger.session.state import SessionState
from ledger.session.views import window_of
from projections.entries import Entry
from projections.log.history import HISTORY, History
from projections.strategies.base import NO_HINTS, Hints, Recalled
from projections.strategies.recall import Recall
from projections.strategies.retrieved import hints_for, index_of, newest_question
from projections.strategies.summarizer import KnowledgeBase, SummarizerStrategy
from projections.values.ranges import ranges_of
from projections.window import Knowledge, Window, runs_beside_recalled
from projections.words.searchable_text import words_of
from projections.words.word_index import Why
from projections.words.words import AskedWords, asked_words, index_words

log = logging.getLogger("ledger")

QUERY_CHARACTERS = 10_000
"""A longer query is cut to this length."""
_PIECES_IN_WINDOW = 20  # extra hits, since pieces of summaries in the window are left out
_READ = 50  # hits that are read from the log at once
_SPARE = 2  # times the budget of a window, since some hits do not fit and others are shown anyway
_LEFT_OUT = 64  # versions between two shown entries that are looked at first
_SPARSE = 4  # events read for each surrounding entry: not every event adds one


class Finder:
    """Searches one namespace."""

    def __init__(self, store: Store, index: SearchIndex, *, namespace: str) -> None:
        self._store = store
        self._index = index
        self._namespace = namespace
        self._embedding: asyncio.Task[None] | None = None

    async def search(self, query: SearchQuery, *, around: int, catch_up: bool) -> list[SearchResult]:
        """Return the results, best first, with *around* entries before and after each."""
        build, hits = await self._index.find(replace(query, text=query.text[:QUERY_CHARACTERS]), catch_up=catch_up)
        self._embed_soon()
        found = await self._read(hits, around, self._findable(build, include_erased=query.include_erased))
        asked = asked_words(query.text[:QUERY_CHARACTERS], language=self._index.language)
        return [
            replace(result, why=self._why(hit, asked, result.text, result.entry))
            for hit, result in zip(hits, found, strict=True)
            if result is not None
        ]

    async def window(self, stream: Stream, state: SessionState, query: str | None, *, looks_back: bool) -> Window:
        """Return the session's window with what its strategy and knowledge bases retrieve. Source: R-REC-1, R-KB-2.

        Without *query* the newest user message is searched. With *looks_back* a past state is searched by itself,
        because the index has the current texts.
        """
        if not isinstance(state.config.window, Recall) and not _shown_bases(state):
            return window_of(state)
        text = newest_question(state.window.entries) if query is None else query
        if not text.strip():
            return window_of(state)
        hints, build = await self._recalled(stream, state, text, looks_back=looks_back)
        shown = window_of(state, await self._with_knowledge(hints, state, text))
        if build is None:
            return shown
        return replace(shown, gaps=shown.gaps | await self._left_out(stream, state, shown, build))

    async def knowledge(self, sources: Sequence[KnowledgeSource]) -> tuple[Knowledge, ...]:
        """Return the pieces that *sources* name, read from the log; missing ones are left out."""
        found = []
        for source in sources:
            stream = Stream.of(self._namespace, source.session_id, source.user_id)
            summary = (await read_summaries(self._store, stream, {source.version})).get(source.version)
            if summary is not None:
                end = source.first_character + source.characters
                found.append(Knowledge(summary.text[source.first_character : end], source))
        return tuple(found)

    async def embed(self) -> int:
        """Embed texts that have no vector yet; raises as `SearchIndex.embed` does."""
        return await self._index.embed(self._texts)

    @property
    def is_embedding(self) -> bool:
        """Whether texts are being embedded in the background."""
        return self._embedding is not None and not self._embedding.done()

    async def close(self) -> None:
        """Stop embedding; the rest is embedded later."""
        if self._embedding is not None:
            self._embedding.cancel()
            with suppress(asyncio.CancelledError):
                await self._embedding

    async def _recalled(
        self, stream: Stream, state: SessionState, query: str, *, looks_back: bool
    ) -> tuple[Hints, int | None]:
        """Return the hits, and the build of the index that they are from; None if it was not asked."""
        window = state.config.window
        if not isinstance(window, Recall):
            return NO_HINTS, None
        if looks_back and state.version < (await self._store.events.head(stream))[0]:
            history = HISTORY.fold(
                decode(event) for event in await self._store.events.read_stream(stream, until=state.version)
            )
            recallable = _recallable(history, include_erased=window.include_erased)
            index = index_of(recallable.values(), self._index.language)
            return hints_for(window, recallable, index=index, query=query, ranking=self._index.ranking), None
        build, hits = await self._index.find(
            SearchQuery(
                text=query[:QUERY_CHARACTERS],
                kinds=("entry",),
                stream=stream,
                include_erased=window.include_erased,
                ranking=window.ranking,
                limit=window.top_k,
            )
        )
        ranked: dict[int, PieceHit] = {}
        for hit in hits:
            if state.cleared_version < hit.version <= state.version:
                ranked.setdefault(hit.version, hit)

        asked = asked_words(query[:QUERY_CHARACTERS], language=self._index.language)
        findable = self._findable(build, include_erased=window.include_erased)
        recalled: list[Recalled] = []
        tokens = 0
        found = list(ranked.values())
        for first in range(0, len(found), _READ):
            some = [(hit.version, hit.score) for hit in found[first : first + _READ]]
            read = await read_recalled(
                self._store, stream, some, findable, after=state.cleared_version, until=state.version
            )
            recalled += [replace(hit, why=self._why_recalled(ranked[hit.version], asked, hit)) for hit in read]
            tokens += sum(entry.tokens for hit in read for entry in hit.interaction if entry.version == hit.version)
            if tokens >= _SPARE * window.max_tokens:
                break
        return Hints(tuple(recalled)), build

    async def _left_out(self, stream: Stream, state: SessionState, shown: Window, build: int) -> frozenset[int]:
        """Return the gaps of *shown* that only the index knows: of covered entries that no hit brought along."""
        window = state.config.window
        assert isinstance(window, Recall)
        findable = self._findable(build, include_erased=window.include_erased)
        runs = [run for run in runs_beside_recalled(shown, state.cleared_version) if run[1] + 1 not in shown.gaps]
        gaps: set[int] = set()
        reach = _LEFT_OUT
        while runs:
            heads = {run: range(run[0], min(run[1], run[0] + reach - 1) + 1) for run in runs}
            there = await findable(stream, [version for head in heads.values() for version in head])
            gaps |= {run[1] + 1 for run, head in heads.items() if not there.isdisjoint(head)}
            runs = [
                (head.stop, run[1]) for run, head in heads.items() if run[1] + 1 not in gaps and head.stop <= run[1]
            ]
            reach *= 4
        return frozenset(gaps)

    async def _with_knowledge(self, hints: Hints, state: SessionState, query: str) -> Hints:
        pieces: list[Knowledge] = []
        shown = {summary.summary_id for summary in state.summaries.live}
        for base in _shown_bases(state):
            limit = base.top_k + _PIECES_IN_WINDOW
            pieces_query = SearchQuery(text=query, kinds=("knowledge",), collection=base.collection_id, limit=limit)
            found = await self.search(pieces_query, around=0, catch_up=True)
            others = [item for item in found if item.summary is None or item.summary.summary_id not in shown]
            pieces += [as_knowledge(item) for item in others[: base.top_k]]
        if not pieces:
            return hints
        tokenizer = TOKENIZERS[state.config.tokenizer]
        tokens = sum(tokenizer.count_text(piece.text).tokens for piece in pieces)
        return replace(hints, knowledge=tuple(pieces), knowledge_tokens=tokens)

    async def _read(self, hits: Sequence[PieceHit], around: int, findable: TextSource) -> list[SearchResult | None]:
        """Return the result at each hit, in order; None if its text was removed meanwhile."""
        by_session: dict[Stream, list[PieceHit]] = defaultdict(list)
        for hit in hits:
            by_session[Stream.of(self._namespace, hit.session_id, hit.user_id)].append(hit)
        read = await asyncio.gather(*(self._read_of(*pair, around, findable) for pair in by_session.items()))
        found = {hit.key: result for pairs in read for hit, result in pairs}
        return [found[hit.key] for hit in hits]

    async def _read_of(
        self, stream: Stream, hits: Sequence[PieceHit], around: int, findable: TextSource
    ) -> list[tuple[PieceHit, SearchResult | None]]:
        try:
            return await self._read_whole(stream, hits, around, findable)
        except Unreadable as fault:  # an event there is damaged, or of a newer release: other texts stay findable
            if len(hits) == 1 and not around:
                log.warning("a hit in stream %s cannot be read: %s", stream.stream_id, fault)
                return [(hits[0], None)]
            return [pair for hit in hits for pair in await self._read_of(stream, [hit], 0, findable)]

    async def _read_whole(
        self, stream: Stream, hits: Sequence[PieceHit], around: int, findable: TextSource
    ) -> list[tuple[PieceHit, SearchResult | None]]:
        at = {hit.version for hit in hits if hit.kind == "entry"}
        reach = around * _SPARSE
        near = {version for hit in at for version in range(max(1, hit - reach), hit + reach + 1)}
        entries = await read_entries(self._store, stream, ranges_of(sorted(near)))
        shown = await findable(stream, sorted(entries)) if around else at
        summaries = await read_summaries(self._store, stream, {hit.version for hit in hits if hit.kind != "entry"})
        ordered = [entries[version] for version in sorted(shown & entries.keys())]
        return [
            (hit, result_at(hit, entries.get(hit.version), summaries.get(hit.version), ordered, around)) for hit in hits
        ]

    def _why(self, hit: PieceHit, asked: AskedWords, text: str, entry: Entry | None) -> Why:
        language = self._index.language
        found = index_words(text, language=language) if entry is None else words_of(entry, language)
        return Why(words=asked.found_in(found), by_words=hit.by_words, similarity=hit.similarity)

    def _why_recalled(self, hit: PieceHit, asked: AskedWords, recalled: Recalled) -> Why:
        entry = next(entry for entry in recalled.interaction if entry.version == recalled.version)
        return self._why(hit, asked, entry.content, entry)

    def _findable(self, build: int, *, include_erased: bool) -> TextSource:
        async def findable(stream: Stream, versions: Sequence[int]) -> set[int]:
            return await self._store.search.findable(stream, build, versions, include_erased=include_erased)

        return findable

    async def _texts(self, hits: Sequence[PieceHit]) -> list[str]:
        """Return the text of each hit, empty if it was removed meanwhile."""
        found = await self._read(hits, 0, self._findable(0, include_erased=True))
        return [result.text if result else "" for result in found]

    def _embed_soon(self) -> None:
        if self._index.embeds and not self.is_embedding:
            self._embedding = asyncio.create_task(self._embed_quietly())

    async def _embed_quietly(self) -> None:
        try:
            await self.embed()
        except LedgerError as fault:
            log.warning("some texts have no vector and are found by words only: %s", fault)


def _shown_bases(state: SessionState) -> list[KnowledgeBase]:
    bases = (
        strategy.knowledge_base for strategy in state.config.compactions if isinstance(strategy, SummarizerStrategy)
    )
    return [base for base in bases if base is not None and base.search_mode == "always"]


def _recallable(history: History, *, include_erased: bool) -> dict[int, Entry]:
    kinds = {"active", "covered", "erased"} if include_erased else {"active", "covered"}
    return {item.version: item for item in history.current() if item.status in kinds}
