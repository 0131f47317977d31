"""Read long-term memory: one record, a search, a history; and count the reads."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from copy import copy
from datetime import timedelta
from typing import Any, Final, Self
from uuid import UUID

from msgspec.structs import replace

from ledger.errors import EmbedderFailed, LedgerError, RecordNotFound
from ledger.events import RecordedEvent
from ledger.events.clock import SystemClock
from ledger.events.codec import decode
from ledger.events.ids import namespace_id
from ledger.events.names import DEFAULT_NAMESPACE, check_name
from ledger.indexes.record_index import RecordIndexes
from ledger.long_term_memory.record_decisions import revisions
from ledger.long_term_memory.record_drafts import check_record_id
from ledger.long_term_memory.record_results import LongTermRecord, RecordPage, Revision, found, shown
from ledger.long_term_memory.record_writer import RecordWriter, records_stream
from ledger.long_term_memory.search_queries import RecordSearch, record_search
from ledger.ports import Clock, Store
from ledger.ports.language_models import QueryEmbedder
from ledger.ports.record_store import RecordBuilds, RecordHitPage, RecordKey, RecordLookup, RecordQuery, StoredRecord
from projections.records.record_filters import FilterCondition, Tag, tag_matches
from projections.values.ranges import ranges_of
from projections.words.languages import SearchLanguage

log = logging.getLogger("ledger")

ACCESS_PAUSE: Final = timedelta(minutes=15)
_EMBED_BATCH: Final = 64
_PAGE: Final = 1_000


class RecordReads:
    """Read records; the base of `RecordChanges`."""

    def __init__(
        self,
        store: Store,
        *,
        namespaces: Sequence[str | UUID],
        default_namespace: str = DEFAULT_NAMESPACE,
        actor: str = "",
        clock: Clock | None = None,
        language: SearchLanguage = "auto",
        embedder: QueryEmbedder | None = None,
        indexes: RecordIndexes | None = None,
    ) -> None:
        """Read in *namespaces*, those a credential permits, by name or by id (http W-75).

        Records without a namespace are in *default_namespace*, which is returned as None. The caller checks that it may
        write to a namespace that a record names.
        """
        self._store = store
        self._clock = clock or SystemClock()
        self._default = check_name(default_namespace, field="namespace")
        self._namespaces = _ids_of(namespaces)
        self._embedder = embedder
        self._indexes = indexes or RecordIndexes(store, self._clock, language=language)
        self._writer = RecordWriter(store, self._clock, self._indexes, actor=actor)
        self._counts_reads = True

    def over(
        self,
        namespaces: Sequence[str | UUID],
        *,
        actor: str | None = None,
        default_namespace: str | None = None,
        counts_reads: bool = True,
    ) -> Self:
        """Return this memory over other namespaces, and for another actor; this is cheap.

        Without *counts_reads*, no record counts as read.
        """
        other = copy(self)
        other._counts_reads = counts_reads  # noqa: SLF001 - a class may build its own kind
        if default_namespace is not None:
            other._default = default_namespace  # noqa: SLF001 - a class may build its own kind
        if actor is not None:
            other._writer = self._writer.of(actor)  # noqa: SLF001 - a class may build its own kind
        other._namespaces = _ids_of(namespaces)  # noqa: SLF001 - a class may build its own kind
        return other

    async def get(self, record_id: str) -> LongTermRecord:
        """Return a live record; of several with that id, the one changed last. It counts as read.

        Raises:
            RecordNotFound: there is no live record with this id.
        """
        # http W-27
        stored, name = await self._live(check_record_id(record_id, field="id"))
        await self._read([stored])
        return shown(stored, namespace=self._shown_name(name))

    async def get_many(self, record_ids: Sequence[str], *, counts_reads: bool = True) -> list[LongTermRecord]:
        """Return the live records with these ids, in no certain order; ids without one are left out.

        They count as read, unless not *counts_reads*.
        """
        ids = dict.fromkeys(check_record_id(record_id, field="ids") for record_id in record_ids)
        live = [(stored, name) for stored, name in await self._stored(*ids) if stored.record.live] if ids else []
        if counts_reads:
            await self._read([stored for stored, _ in live])
        return [shown(stored, namespace=self._shown_name(name)) for stored, name in live]

    async def search(self, body: str | Mapping[str, Any] | RecordSearch) -> RecordPage:
        """Return a page of the records that match a search, or only a text, ranked. They count as read.

        Without a text it is a filtered list, the newest first. Filters are never relaxed. Without an embedder, or
        while it fails, the search is by words, and ``score_type`` is ``keyword``.

        Raises:
            InvalidInput: a field of *body* is wrong.
        """
        request = body if isinstance(body, RecordSearch) else record_search(body)
        vector = await self._vector(request)
        now = self._clock.now()
        score_type = None if request.text is None else request.mode if vector is not None else "keyword"
        query = RecordQuery(
            conditions=tuple(condition for condition in request.conditions if not _of_namespace(condition)),
            text=request.text,
            mode=request.mode if vector is not None else "keyword",
            vector=vector,
            model=self._embedder.model if self._embedder else "",
            alpha=request.alpha,
            distance_threshold=request.distance_threshold,
            recency=request.recency,
            now=now,
            language=self._indexes.language,
            limit=request.limit,
            offset=request.offset,
        )
        hits, names = await self._found(query, request.conditions)
        await self._read([hit.stored for hit in hits.hits])
        end = request.offset + request.limit
        return RecordPage(
            memories=[
                found(hit, namespace=self._shown_name(names[hit.stored.namespace_id]), score_type=score_type)
                for hit in hits.hits
            ],
            total=hits.total,
            next_offset=end if end < hits.total else None,
        )

    async def pages(self, conditions: Sequence[FilterCondition]) -> AsyncIterator[list[StoredRecord]]:
        """Yield all live records that meet *conditions*, the oldest first, page by page; they do not count as read."""
        read = 0
        while True:
            query = RecordQuery(
                conditions=tuple(conditions), now=self._clock.now(), oldest_first=True, limit=_PAGE, offset=read
            )
            hits, _ = await self._found(query)
            if hits.hits:
                yield [hit.stored for hit in hits.hits]
            read += _PAGE
            if read >= hits.total:
                return

    async def history(self, record_id: str) -> list[Revision]:
        """Return the record after each event about it, oldest first, also if it was deleted.

        Raises:
            RecordNotFound: there never was such a record.
        """
        stored_records = await self._stored(check_record_id(record_id, field="id"))
        if not stored_records:
            raise RecordNotFound(record_id)
        answers = [
            Revision(
                revision=event.version,
                user_id=item.user_id or None,
                namespace=self._shown_name(name),
                type=event.type,
                recorded_at=event.recorded_at,
                actor=event.actor,
                status=record.status,
                merged_into=record.merged_into,
                record=shown(replace(item, record=record), namespace=self._shown_name(name)),
            )
            for item, name in stored_records
            for event, record in revisions(record_id, await self._events(item, name))
        ]
        return sorted(answers, key=lambda revision: revision.recorded_at)

    async def embed_pending(self) -> int:
        """Embed the records that have no vector yet, page by page; return how many.

        Raises:
            EmbedderFailed: the model returned nothing usable; vectors stored before it stay.
        """
        done = 0
        while self._embedder is not None and (pending := await self._to_embed()):
            vectors = await self._embedder.embed([record.record.fields.text for record in pending])
            await self._store.records.save_embeddings(self._embedder.model, list(zip(pending, vectors, strict=True)))
            done += len(pending)
        return done

    async def _found(
        self, query: RecordQuery, conditions: Sequence[FilterCondition] = ()
    ) -> tuple[RecordHitPage, Mapping[UUID, str]]:
        """Return what *query* finds in the namespaces that meet *conditions*, and the namespaces' names."""

        async def look_up(builds: RecordBuilds, names: Mapping[UUID, str]) -> tuple[RecordHitPage, Mapping[UUID, str]]:
            tags = [condition for condition in conditions if isinstance(condition, Tag) and _of_namespace(condition)]
            within = {
                namespace_id: build
                for namespace_id, build in builds.items()
                if all(tag_matches(tag, [names[namespace_id]]) for tag in tags)
            }
            return await self._store.records.search(within, query), names

        return await self._indexes.read(self._namespaces, look_up)

    async def _stored(self, *record_ids: str) -> list[tuple[StoredRecord, str]]:
        """Return the records with one of the ids, live or not, each with the name of its namespace.

        Live ones come first, then the ones changed last.
        """

        async def look_up(builds: RecordBuilds, names: Mapping[UUID, str]) -> list[tuple[StoredRecord, str]]:
            stored_records = await self._store.records.find(builds, RecordLookup(record_ids=record_ids))
            return [(stored, names[stored.namespace_id]) for stored in stored_records]

        found_records = await self._indexes.read(self._namespaces, look_up)
        return sorted(found_records, key=lambda pair: (not pair[0].record.live, -pair[0].record.updated_us))

    async def _live(self, record_id: str) -> tuple[StoredRecord, str]:
        for stored, name in await self._stored(record_id):
            if stored.record.live:
                return stored, name
        raise RecordNotFound(record_id)

    async def _events(self, stored: StoredRecord, namespace: str) -> list[RecordedEvent]:
        """Return the events about a record, oldest first: its own, and those that merged it into another one."""
        stream, record_id = records_stream(namespace, stored.user_id), stored.record.record_id
        own = (await self._store.events.find_items(stream, [record_id])).get(record_id, [])
        versions = ranges_of(sorted({*own, *stored.record.merges}))
        return [decode(event) for event in await self._store.events.read_versions(stream, versions)]

    async def _read(self, records: Sequence[StoredRecord]) -> None:
        """Count a read of *records*, where one is due."""
        if not self._counts_reads:
            return
        now = self._clock.now()
        due = [record for record in records if not record.access_count or now - record.last_accessed >= ACCESS_PAUSE]
        await self._touch([record.key for record in due])

    async def _touch(self, places: Sequence[RecordKey]) -> None:
        """Count reads, at most every 15 minutes; a failure is only logged (http W-32)."""
        try:
            await self._store.records.touch(places, now=self._clock.now(), pause_s=ACCESS_PAUSE.total_seconds())
        except LedgerError as fault:
            log.warning("a read of long-term memory was not counted: %s", fault.code)

    async def _to_embed(self) -> list[StoredRecord]:
        embedder = self._embedder
        if embedder is None or not await self._store.records.stores_embeddings():
            return []

        async def look_up(builds: RecordBuilds, names: object) -> list[StoredRecord]:
            return await self._store.records.to_embed(builds, embedder.model, limit=_EMBED_BATCH)

        return await self._indexes.read(self._namespaces, look_up)

    async def _vector(self, request: RecordSearch) -> tuple[float, ...] | None:
        """Return the vector of a search, and embed a page of new records; None if the search is by words."""
        embedder = self._embedder
        if embedder is None or request.text is None or request.mode == "keyword":
            return None
        if not await self._store.records.stores_embeddings():
            return None
        try:
            pending = await self._to_embed()
            own = await embedder.embed_query(request.text)
            theirs = await embedder.embed([record.record.fields.text for record in pending]) if pending else []
            await self._store.records.save_embeddings(embedder.model, list(zip(pending, theirs, strict=True)))
        except EmbedderFailed as fault:
            log.warning("search uses words only: %s", fault)
            return None
        return tuple(own)

    def _shown_name(self, namespace: str) -> str | None:
        return None if namespace == self._default else namespace


def _ids_of(namespaces: Sequence[str | UUID]) -> list[UUID]:
    return list(
        dict.fromkeys(namespace if isinstance(namespace, UUID) else namespace_id(namespace) for namespace in namespaces)
    )


def _of_namespace(condition: FilterCondition) -> bool:
    return condition.field == "namespace"
