"""Reading long-term memory: one record, a search, a history; and noting that it was read."""

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

from msgspec.structs import replace

from ledger.clock import SystemClock
from ledger.codec import decode
from ledger.errors import EmbedderFailed, LedgerError, RecordNotFound
from ledger.events import RecordedEvent
from ledger.ids import Stream, namespace_id
from ledger.long_term_memory.decisions import revisions
from ledger.long_term_memory.drafts import check_record_id
from ledger.long_term_memory.index import RecordIndexes
from ledger.long_term_memory.queries import RecordSearch, record_search
from ledger.long_term_memory.record_writer import RecordWriter, records_stream
from ledger.long_term_memory.results import LongTermRecord, RecordPage, Revision, found, shown
from ledger.names import DEFAULT_NAMESPACE, check_name
from ledger.ports import Clock, Store
from ledger.ports.models import Embedder
from ledger.ports.records import RecordBuilds, RecordHitPage, RecordKey, RecordLookup, RecordQuery, StoredRecord
from ledger.ports.search_index import SearchLanguage
from projections.ranges import ranges_of
from projections.record_filters import FilterCondition, Tag, tag_matches

log = logging.getLogger("ledger")

ACCESS_PAUSE_S: Final = 15 * 60.0
_EMBEDDED_AT_ONCE: Final = 64


class RecordReads:
    """What all of long-term memory shares, and reading it."""

    def __init__(
        self,
        store: Store,
        *,
        namespaces: Sequence[str | UUID],
        default_namespace: str = DEFAULT_NAMESPACE,
        actor: str = "",
        clock: Clock | None = None,
        language: SearchLanguage = "simple",
        embedder: Embedder | None = None,
    ) -> None:
        """Look through *namespaces*, those a credential permits, by name or by id (http W-75).

        Records without a namespace are in *default_namespace*, which is shown as none. Whoever calls has checked
        that a namespace a record names may be written to.
        """
        self._store = store
        self._clock = clock or SystemClock()
        self._default = check_name(default_namespace, field="namespace")
        self._namespaces = _ids_of(namespaces)
        self._language = language
        self._embedder = embedder
        self._indexes = RecordIndexes(store, self._clock, language=language)
        self._writer = RecordWriter(store, self._clock, self._indexes, actor=actor)

    def over(
        self, namespaces: Sequence[str | UUID], *, actor: str | None = None, default_namespace: str | None = None
    ) -> Self:
        """Return the same memory over other namespaces, those another credential permits, for its owner; cheap."""
        other = copy(self)
        if default_namespace is not None:
            other._default = default_namespace  # noqa: SLF001 - a class may build its own kind
        if actor is not None:
            other._writer = self._writer.of(actor)  # noqa: SLF001 - a class may build its own kind
        other._namespaces = _ids_of(namespaces)  # noqa: SLF001 - a class may build its own kind
        return other

    async def get(self, record_id: str) -> LongTermRecord:
        """Return a live record; of several with that id, that which was changed last. Counts as a read.

        Raises:
            RecordNotFound: there is none.
        """
        # http W-27
        stored, name = await self._live(check_record_id(record_id, field="id"))
        await self._read([stored])
        return shown(stored, namespace=self._shown_name(name))

    async def search(self, body: Mapping[str, Any] | RecordSearch) -> RecordPage:
        """Return what answers a question, ranked and paged. What is shown counts as read.

        Without a text it is a filtered list, the newest first. Filters are never relaxed. Without an embedder,
        or while it fails, meaning gives way to words, and ``score_type`` says so.

        Raises:
            InvalidInput: see `questions.record_search`.
        """
        asked = body if isinstance(body, RecordSearch) else record_search(body)
        vector = await self._vector(asked)
        now = self._clock.now()
        score_type = None if asked.text is None else asked.mode if vector is not None else "keyword"
        query = RecordQuery(
            conditions=tuple(condition for condition in asked.conditions if not _of_namespace(condition)),
            text=asked.text,
            mode=asked.mode if vector is not None else "keyword",
            vector=vector,
            model=self._embedder.model if self._embedder else "",
            alpha=asked.alpha,
            distance_threshold=asked.distance_threshold,
            recency=asked.recency,
            now=now,
            language=self._language,
            limit=asked.limit,
            offset=asked.offset,
        )
        hits, names = await self._found(query, asked.conditions)
        await self._read([hit.stored for hit in hits.hits])
        shown_up_to = asked.offset + asked.limit
        return RecordPage(
            memories=[
                found(hit, namespace=self._shown_name(names[hit.stored.namespace_id]), score_type=score_type)
                for hit in hits.hits
            ],
            total=hits.total,
            next_offset=shown_up_to if shown_up_to < hits.total else None,
        )

    async def history(self, record_id: str) -> list[Revision]:
        """Return what the record was after each event about it, oldest first, also of one that is gone.

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
        """Give every record's text its meaning, page by page; return how many.

        Raises:
            EmbedderFailed: the model gave nothing usable; what was embedded before is kept.
        """
        done = 0
        while self._embedder is not None and (left := await self._to_embed()):
            vectors = await self._embedder.embed([record.record.fields.text for record in left])
            await self._store.records.save_embeddings(self._embedder.model, list(zip(left, vectors, strict=True)))
            done += len(left)
        return done

    async def _found(
        self, query: RecordQuery, conditions: Sequence[FilterCondition] = ()
    ) -> tuple[RecordHitPage, Mapping[UUID, str]]:
        """Return the answer to *query* where the *conditions* on the namespace hold, and the namespaces' names."""

        async def asked(builds: RecordBuilds, names: Mapping[UUID, str]) -> tuple[RecordHitPage, Mapping[UUID, str]]:
            stored = [
                condition for condition in conditions if isinstance(condition, Tag) and condition.field == "namespace"
            ]
            within = {
                namespace_id: build
                for namespace_id, build in builds.items()
                if all(tag_matches(condition, [names[namespace_id]]) for condition in stored)
            }
            return await self._store.records.search(within, query), names

        return await self._indexes.read(self._namespaces, asked)

    async def _stored(self, *record_ids: str) -> list[tuple[StoredRecord, str]]:
        """Return the records with one of the ids, found or not, each with the name of its namespace.

        Live ones come first, then what was changed last.
        """

        async def asked(builds: RecordBuilds, names: Mapping[UUID, str]) -> list[tuple[StoredRecord, str]]:
            remaining = await self._store.records.find(builds, RecordLookup(record_ids=record_ids))
            return [(stored, names[stored.namespace_id]) for stored in remaining]

        remaining = await self._indexes.read(self._namespaces, asked)
        return sorted(remaining, key=lambda pair: (not pair[0].record.live, -pair[0].record.updated_us))

    async def _live(self, record_id: str) -> tuple[StoredRecord, str]:
        for stored, name in await self._stored(record_id):
            if stored.record.live:
                return stored, name
        raise RecordNotFound(record_id)

    async def _events(self, remaining: StoredRecord, namespace: str) -> list[RecordedEvent]:
        """Return the events about a record, oldest first: its own, and those that merged it into another one."""
        stream = records_stream(namespace, remaining.user_id)
        own = (await self._store.events.find_items(stream, [remaining.record.record_id])).get(
            remaining.record.record_id, []
        )
        versions = ranges_of(sorted({*own, *remaining.record.merges}))
        return [decode(stored) for stored in await self._store.events.read_versions(stream, versions)]

    async def _read(self, records: Sequence[StoredRecord]) -> None:
        """Note that *records* were read, those that are due."""
        now = self._clock.now()
        due = [record for record in records if not record.access_count or _since(record, now) >= ACCESS_PAUSE_S]
        await self._touch([record.key for record in due])

    async def _touch(self, places: Sequence[RecordKey]) -> None:
        """Note reads, at most every 15 minutes; it never fails a read (http W-32)."""
        try:
            await self._store.records.touch(places, now=self._clock.now(), pause_s=ACCESS_PAUSE_S)
        except LedgerError as fault:
            log.warning("a read of long-term memory was not noted: %s", fault.code)

    async def _to_embed(self) -> list[StoredRecord]:
        embedder = self._embedder
        if embedder is None or not await self._store.records.stores_embeddings():
            return []

        async def asked(builds: RecordBuilds, names: object) -> list[StoredRecord]:
            return await self._store.records.to_embed(builds, embedder.model, limit=_EMBEDDED_AT_ONCE)

        return await self._indexes.read(self._namespaces, asked)

    async def _vector(self, asked: RecordSearch) -> tuple[float, ...] | None:
        """Return the meaning of a question, and give a page of new records theirs; none where words must do."""
        embedder = self._embedder
        if embedder is None or asked.text is None or asked.mode == "keyword":
            return None
        if not await self._store.records.stores_embeddings():
            return None
        try:
            left = await self._to_embed()
            own, *theirs = await embedder.embed([asked.text, *(record.record.fields.text for record in left)])
            await self._store.records.save_embeddings(embedder.model, list(zip(left, theirs, strict=True)))
        except EmbedderFailed as fault:
            log.warning("search goes by words alone: %s", fault)
            return None
        return tuple(own)

    def _shown_name(self, namespace: str) -> str | None:
        return None if namespace == self._default else namespace

    def _stream(self, namespace: str | None, user_id: str | None) -> Stream:
        return records_stream(namespace or self._default, user_id)


def _ids_of(namespaces: Sequence[str | UUID]) -> list[UUID]:
    return list(
        dict.fromkeys(namespace if isinstance(namespace, UUID) else namespace_id(namespace) for namespace in namespaces)
    )


def _since(record: StoredRecord, now: datetime) -> float:
    return (now - record.last_accessed).total_seconds()


def _of_namespace(condition: FilterCondition) -> bool:
    return condition.field == "namespace"
