"""The current records: a stored projection, caught up by each reader before it reads (style §4)."""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeVar
from uuid import UUID

from ledger.errors import Unreadable
from ledger.events import RecordedEvent, StoredEvent
from ledger.events.codec import decode
from ledger.events.limits import NAME_BYTES
from ledger.history.fold_results import fold_digest
from ledger.indexes.stored_projections import builds
from ledger.indexes.stored_projections.builds import Builds
from ledger.indexes.stored_projections.catch_ups import CatchUps
from ledger.indexes.stored_projections.many_namespaces import ManyBuilds
from ledger.ports import Clock, Store
from ledger.ports.projection_store import FoldedPage, Place
from ledger.ports.record_store import RECORDS_PROJECTION, ChangedRecord, RecordBuilds, RecordEvents, RecordLookup
from projections.records import records
from projections.records.records import Record
from projections.words.languages import LANGUAGES, SearchLanguage

T = TypeVar("T")
log = logging.getLogger("ledger")

VERSION: Final = 4  # raise it when a row's meaning changes: a new build is then made beside the old one
#: A shorter page without events about records is not recorded: reading it again costs less than a write.
_QUIET: Final = 500


class RecordIndexes:
    """The records of many namespaces, one row each, read as one; a `many_namespaces.BatchedProjection`."""

    name: Final = RECORDS_PROJECTION

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        language: SearchLanguage = "auto",
        catch_ups: CatchUps | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        #: Facts are short and often mixed: without a language their words are compared as they are.
        self.language: SearchLanguage = "simple" if language == "auto" else language
        self._catch_ups = catch_ups or CatchUps()
        self._patience_s = patience_s
        self._builds = ManyBuilds(store, self, self._alone, catch_ups=self._catch_ups, patience_s=patience_s)

    @property
    def version(self) -> int:
        """The version of a row's meaning, which depends on the language."""
        return VERSION * 100 + LANGUAGES.index(self.language)

    @cached_property
    def code_digest(self) -> bytes:
        """The digest of the fold and of the code that turns it into rows."""
        return fold_digest(self.name, self.version)

    def of(self, namespace_id: UUID) -> tuple[Builds, "RecordIndex"]:
        """Return the index of one namespace, and its builds."""
        own = Builds(
            self._store,
            self._clock,
            namespace_id=namespace_id,
            catch_ups=self._catch_ups,
            patience_s=self._patience_s,
        )
        return own, RecordIndex(self, self._store, namespace_id=namespace_id)

    async def read(
        self, namespaces: Sequence[UUID], question: Callable[[RecordBuilds, Mapping[UUID, str]], Awaitable[T]]
    ) -> T:
        """Return what *question* reads in the live builds, as of the newest event of each namespace.

        Its arguments are the builds and the names of the namespaces that have records. It is called again if a build
        was replaced meanwhile.
        """
        names = await self._names(namespaces)
        return await self._builds.read(list(names), lambda live: question(live, names))

    async def catch_up(self, namespaces: Sequence[UUID]) -> None:
        """Fold the records of *namespaces* up to the newest event of each."""
        await self._builds.catch_up(list(await self._names(namespaces)))

    async def advance_all(self, places: Mapping[UUID, Place]) -> Mapping[UUID, int | None]:
        """See `BatchedProjection.advance_all`."""
        return await self.advance(places, limit=builds.PAGE, begin_as=self.code_digest)

    async def advance(
        self, places: Mapping[UUID, Place], *, limit: int, begin_as: bytes | None = None
    ) -> Mapping[UUID, int | None]:
        """Fold up to *limit* events after each of *places*, by namespace, and return the positions reached.

        With *begin_as* namespaces without any build get a live one. An event that cannot be read is left out and
        logged, so that it stops no other record.
        """
        after = {namespace_id: place.after for namespace_id, place in places.items()}
        pages = await self._store.records.read_events(after, limit=limit)
        reached: dict[UUID, int | None] = {
            namespace_id: page.position
            for namespace_id, page in pages.items()
            if not page.events and after[namespace_id] > 0 and page.position - after[namespace_id] < min(_QUIET, limit)
        }
        changed = {namespace_id: page for namespace_id, page in pages.items() if namespace_id not in reached}
        if not changed:
            return reached
        rows = await self._changed(places, changed)
        folded = [
            FoldedPage(namespace_id, places[namespace_id].build, after[namespace_id], page.position, rows[namespace_id])
            for namespace_id, page in changed.items()
        ]
        save = self._store.records.save_all
        return reached | await save(folded, language=self.language, begin_as=begin_as)

    async def _changed(
        self, places: Mapping[UUID, Place], pages: Mapping[UUID, RecordEvents]
    ) -> dict[UUID, list[ChangedRecord]]:
        """Return the records that *pages* change, as they are after them."""
        by_stream: dict[tuple[UUID, UUID, str], list[RecordedEvent]] = defaultdict(list)
        for namespace_id, page in pages.items():
            for user_id, stored in page.events:
                if (event := _readable(namespace_id, stored)) is not None:
                    by_stream[namespace_id, stored.stream_id, user_id].append(event)
        builds_read = {namespace_id: places[namespace_id].build for namespace_id, _, _ in by_stream}
        ids = {key: {item for event in events for item in records.about(event)} for key, events in by_stream.items()}
        wanted = RecordLookup(
            record_ids=tuple(sorted({item for own in ids.values() for item in own})),
            streams=tuple(stream_id for _, stream_id, _ in by_stream),
        )
        before: dict[UUID, dict[str, Record]] = defaultdict(dict)
        for found in await self._store.records.find(builds_read, wanted) if wanted.record_ids else ():
            before[found.stream_id][found.record.record_id] = found.record
        changed: dict[UUID, list[ChangedRecord]] = {namespace_id: [] for namespace_id in pages}
        for key, events in by_stream.items():
            namespace_id, stream_id, user_id = key
            folded = records.fold(events, before.get(stream_id, {}))
            changed[namespace_id] += [
                (stream_id, user_id, folded[item]) for item in sorted(ids[key] & folded.keys()) if fits(folded[item])
            ]
        return changed

    async def _names(self, namespaces: Sequence[UUID]) -> dict[UUID, str]:
        return await self._store.records.namespaces(namespaces) if namespaces else {}

    async def _alone(self, namespace_id: UUID) -> tuple[int, int] | None:
        own, index = self.of(namespace_id)
        return await own.caught_up(index)


class RecordIndex:
    """The records of one namespace; a `build_choice.StoredProjection`."""

    name: Final = RECORDS_PROJECTION
    keeps: Final = "a row per record of long-term memory, for look-ups and search"

    def __init__(self, indexes: RecordIndexes, store: Store, *, namespace_id: UUID) -> None:
        self._indexes = indexes
        self._store = store
        self._namespace_id = namespace_id

    @property
    def version(self) -> int:
        """The version of a row's meaning."""
        return self._indexes.version

    @property
    def code_digest(self) -> bytes:
        """The digest of the fold and of the code that turns it into rows."""
        return self._indexes.code_digest

    async def advance(self, build: int, *, after: int, limit: int) -> int | None:
        """See `build_choice.StoredProjection.advance`."""
        places = {self._namespace_id: Place(build, after)}
        return (await self._indexes.advance(places, limit=limit)).get(self._namespace_id)

    async def prune(self) -> int:
        """See `build_choice.StoredProjection.prune`."""
        return await self._store.records.prune(self._namespace_id)


def _readable(namespace_id: UUID, stored: StoredEvent) -> RecordedEvent | None:
    """Return the event about records; None, after an error was logged, if this release cannot read it."""
    try:
        event = decode(stored)
        records.about(event)
    except Unreadable as fault:  # a change of that record proves it by the log, and is refused
        log.error("event %d of the namespace %s is left out of its records: %s", stored.position, namespace_id, fault)
        return None
    return event


def fits(record: Record) -> bool:
    """Tell whether a row can hold *record*: an edited export file may have values that the API refuses (trust E-12)."""
    fields = record.fields
    names = (record.record_id, fields.session_id or "", fields.extraction_strategy)
    texts = (fields.text, fields.memory_type, *names, *(fields.topics or ()), *(fields.entities or ()))
    return all(len(name.encode()) <= NAME_BYTES for name in names) and not any("\x00" in text for text in texts)
