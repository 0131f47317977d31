"""Read the records of one user as they were at a version of their stream, or at a time."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from ledger.errors import InvalidInput, VersionNotFound
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.history.item_history import read_item_events
from ledger.long_term_memory.record_drafts import check_record_id
from ledger.long_term_memory.record_restore import RecordRestore
from ledger.long_term_memory.record_results import LongTermRecord, RecordPage, found, shown
from ledger.long_term_memory.record_writer import records_stream
from ledger.long_term_memory.search_queries import record_search
from ledger.ports import Clock, Store
from ledger.ports.found_records import found_in
from ledger.ports.record_store import RecordQuery, StoredRecord
from ledger.session.entry_drafts import check_time
from projections.records.record_filters import FilterCondition
from projections.records.records import Record, fold
from projections.values.ranges import ranges_of
from projections.words.languages import SearchLanguage

_PAGE: Final = 1_000


class PastRecords:
    """Reads the live records of one user at a version or a time, in one namespace; nothing counts as read.

    A read by id costs what is stored about these records; any other folds all events of the user up to then.
    """

    def __init__(
        self,
        memory: RecordRestore,
        store: Store,
        stream: Stream,
        *,
        version: int | None,
        moment: datetime | None,
        language: SearchLanguage,
        clock: Clock,
    ) -> None:
        """Read *stream* of *memory* at *version*, or at *moment* if that is given."""
        self._memory = memory
        self._store = store
        self._stream = stream
        self._version = version
        self._moment = moment
        self._language = language
        self._clock = clock

    async def get_many(self, record_ids: Sequence[str], *, counts_reads: bool = False) -> list[LongTermRecord]:
        """Return what `LongTermMemory.get_many` returned then."""
        until = await self._until()
        ids = [check_record_id(record_id, field="ids") for record_id in record_ids]
        events = await read_item_events(self._store, self._stream, ids, until=until)
        now = await self._memory._stored(*ids) if ids else []  # noqa: SLF001 - of the same package
        merges = {version for stored, _ in now if self._is_here(stored) for version in stored.record.merges}
        unread = {version for version in merges if version <= until} - {event.version for event in events}
        events += await self._store.events.read_versions(self._stream, ranges_of(sorted(unread))) if unread else []
        known = fold(map(decode, sorted(events, key=attrgetter("version"))))
        wanted = {record_id: known[record_id] for record_id in ids if record_id in known}
        return [shown(stored, namespace=None) for stored in self._live(wanted)]

    async def search(self, body: str | Mapping[str, Any]) -> RecordPage:
        """Return what `LongTermMemory.search` finds by words among the records of then: no past has embeddings.

        Raises:
            InvalidInput: a field of *body* is wrong.
        """
        request = record_search(body)
        query = RecordQuery(
            conditions=request.conditions,
            text=request.text,
            recency=request.recency,
            now=self._clock.now(),
            language=self._language,
            limit=request.limit,
            offset=request.offset,
        )
        page = found_in(await self._all(), query, lambda record: None)
        score_type = None if request.text is None else "keyword"
        end = request.offset + request.limit
        return RecordPage(
            memories=[found(hit, namespace=None, score_type=score_type) for hit in page.hits],
            total=page.total,
            next_offset=end if end < page.total else None,
        )

    async def pages(self, conditions: Sequence[FilterCondition]) -> AsyncIterator[list[StoredRecord]]:
        """Yield, in one page, the records that met *conditions*, the oldest first."""
        live = await self._all()
        query = RecordQuery(
            conditions=tuple(conditions), now=self._clock.now(), oldest_first=True, limit=max(1, len(live))
        )
        yield [hit.stored for hit in found_in(live, query, lambda record: None).hits]

    async def _all(self) -> list[StoredRecord]:
        until, known = await self._until(), dict[str, Record]()
        after = 0
        while after < until:
            page = await self._store.events.read_stream(self._stream, after=after, until=until, limit=_PAGE)
            known = fold(map(decode, page), known)
            after = page[-1].version
        return self._live(known)

    async def _until(self) -> int:
        """Return the version to read at; 0 before the first event.

        Raises:
            VersionNotFound: there is no such version.
        """
        if self._moment is not None:
            return await self._store.events.version_at(self._stream, self._moment)
        head, _ = await self._store.events.head(self._stream)
        version = self._version or 0
        if version > head:
            raise VersionNotFound(f"the records of the user have versions up to {head}")
        return version

    def _is_here(self, stored: StoredRecord) -> bool:
        return stored.stream_id == self._stream.stream_id

    def _live(self, records: Mapping[str, Record]) -> list[StoredRecord]:
        return [
            StoredRecord(
                namespace_id=self._stream.namespace_id,
                stream_id=self._stream.stream_id,
                user_id=self._stream.user_id,
                record=record,
                last_accessed=record.persisted_at,
            )
            for record in records.values()
            if record.live
        ]


class RecordPast(RecordRestore):
    """Read the records of one user at an earlier time."""

    async def version(self, user_id: str) -> int:
        """Return the version of the records of a user in the default namespace: how many changes there were so far."""
        return (await self._store.events.head(records_stream(self._default, user_id)))[0]

    def past(self, user_id: str, *, version: int | None = None, at: datetime | str | None = None) -> PastRecords:
        """Return what reads a user's records in the default namespace as they were at a version, or at a time.

        Raises:
            InvalidInput: not one of them was given, or it is wrong.
        """
        if (version is None) == (at is None):
            raise InvalidInput("bad_version", "give a version or a moment", field="version")
        if version is not None:
            check_integer(version, field="version", code="bad_version", least=0)
        return PastRecords(
            self,
            self._store,
            records_stream(self._default, user_id),
            version=version,
            moment=check_time(at, "at"),
            language=self._indexes.language,
            clock=self._clock,
        )
