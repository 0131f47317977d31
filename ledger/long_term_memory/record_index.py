"""The current records: a stored projection, caught up by each reader before it reads (design §6)."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeVar
from uuid import UUID

from ledger.codec import decode
from ledger.events import RecordedEvent
from ledger.limits import NAME_BYTES
from ledger.ports import Clock, Store
from ledger.ports.records import RECORDS_PROJECTION, RecordBuilds, RecordLookup
from ledger.ports.search_index import LANGUAGES, SearchLanguage
from ledger.states.fold_results import fold_digest
from ledger.stored_projections.builds import Builds, live_builds, still_exist
from ledger.stored_projections.catch_ups import CatchUps
from projections import records
from projections.records import Record

T = TypeVar("T")

VERSION: Final = 1  # raise it when a row's meaning changes: a new build is then made beside the old one


class RecordIndex:
    """The records of one namespace, one row each; a `builds.StoredProjection`."""

    name: Final = RECORDS_PROJECTION
    keeps: Final = "a row per record of long-term memory, for look-ups and search"

    def __init__(
        self, store: Store, builds: Builds, *, namespace_id: UUID, language: SearchLanguage = "simple"
    ) -> None:
        self._store = store
        self._builds = builds
        self._namespace_id = namespace_id
        self._language = language

    @property
    def version(self) -> int:
        """The version of a row's meaning, which depends on the language."""
        return VERSION * 100 + LANGUAGES.index(self._language)

    @cached_property
    def code_digest(self) -> bytes:
        """The digest of the fold and of the code that turns it into rows."""
        return fold_digest(self.name, self.version)

    async def advance(self, build: int, *, after: int, limit: int) -> int | None:
        """See `builds.StoredProjection.advance`.

        Raises:
            UnknownEvent: a newer release wrote an event about a record.
            LogCorrupted: an event about a record cannot be decoded.
        """
        page = await self._store.records.read_events(self._namespace_id, after=after, limit=limit)
        by_stream: dict[tuple[UUID, str], list[RecordedEvent]] = defaultdict(list)
        for user_id, stored in page.events:
            by_stream[stored.stream_id, user_id].append(decode(stored))
        changed: list[tuple[UUID, str, Record]] = []
        before = await self._before(build, by_stream)
        for (stream_id, user_id), events in by_stream.items():
            ids = {item for event in events for item in records.about(event)}
            folded = records.fold(events, before.get(stream_id, {}))
            changed += [
                (stream_id, user_id, folded[item_id])
                for item_id in sorted(ids & folded.keys())
                if fits(folded[item_id])
            ]
        return await self._store.records.save(
            self._namespace_id, build, changed, after=after, position=page.position, language=self._language
        )

    async def _before(
        self, build: int, by_stream: Mapping[tuple[UUID, str], Sequence[RecordedEvent]]
    ) -> dict[UUID, dict[str, Record]]:
        """Return the records that a page is about, as they are before it, in one query."""
        ids = {item for events in by_stream.values() for event in events for item in records.about(event)}
        streams = tuple(stream_id for stream_id, _ in by_stream)
        wanted = RecordLookup(record_ids=tuple(sorted(ids)), streams=streams)
        before: dict[UUID, dict[str, Record]] = defaultdict(dict)
        for found in await self._store.records.find({self._namespace_id: build}, wanted) if ids else ():
            before[found.stream_id][found.record.record_id] = found.record
        return before

    async def prune(self) -> int:
        """See `builds.StoredProjection.prune`."""
        return await self._store.records.prune(self._namespace_id)


def fits(record: Record) -> bool:
    """Tell whether a row can hold *record*: an edited export file may have values that the API refuses (trust E-12)."""
    fields = record.fields
    names = (record.record_id, fields.session_id or "", fields.extraction_strategy)
    texts = (fields.text, fields.memory_type, *names, *(fields.topics or ()), *(fields.entities or ()))
    return all(len(name.encode()) <= NAME_BYTES for name in names) and not any("\x00" in text for text in texts)


class RecordIndexes:
    """The indexes of many namespaces, read as one."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        language: SearchLanguage = "simple",
        catch_ups: CatchUps | None = None,
        patience_s: float | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._language = language
        self._catch_ups = catch_ups or CatchUps()
        self._patience_s = patience_s

    def of(self, namespace_id: UUID) -> tuple[Builds, RecordIndex]:
        """Return the index of one namespace, and its builds."""
        builds = Builds(
            self._store,
            self._clock,
            namespace_id=namespace_id,
            catch_ups=self._catch_ups,
            patience_s=self._patience_s,
        )
        return builds, RecordIndex(self._store, builds, namespace_id=namespace_id, language=self._language)

    async def read(
        self, namespaces: Sequence[UUID], question: Callable[[RecordBuilds, Mapping[UUID, str]], Awaitable[T]]
    ) -> T:
        """Return what *question* reads in the live builds, as of the newest event of each namespace.

        Its arguments are the builds and the names of the namespaces that have records. It is called again if a build
        was replaced meanwhile.
        """
        while True:
            builds, names = await self.catch_up(namespaces)
            answer = await question(builds, names)
            if await still_exist(self._store, RECORDS_PROJECTION, builds):
                return answer

    async def catch_up(self, namespaces: Sequence[UUID]) -> tuple[RecordBuilds, Mapping[UUID, str]]:
        """Return the build to read in each namespace that has records, caught up, and the namespaces' names."""
        names = await self._store.records.namespaces(namespaces) if namespaces else {}
        if not names:
            return {}, names
        _, index = self.of(next(iter(names)))
        live = await live_builds(
            self._store,
            list(names),
            index,
            self._caught_up,
            catch_ups=self._catch_ups,
            patience_s=self._patience_s,
        )
        return live, names

    async def _caught_up(self, namespace_id: UUID) -> int:
        """Return the build to read in a namespace, folded up to its last position."""
        builds, index = self.of(namespace_id)
        return await builds.catch_up(index) or 0
