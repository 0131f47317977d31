"""The records of long-term memory, as a stored projection that can be searched.

Every query may search several namespaces at once, those that a credential permits; *builds* is the build of the
projection ``records`` to read in each (see `stored_projections.Checkpoint`).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias
from uuid import UUID

import msgspec

from ledger.events import StoredEvent
from ledger.ports.projection_store import FoldedPage
from projections.records.recency import Recency
from projections.records.record_filters import FilterCondition
from projections.records.records import Record
from projections.words.languages import SearchLanguage

#: The name of the stored projection, of its checkpoints and its table.
RECORDS_PROJECTION: Final = "records"
#: The extraction strategy of records whose text is not embedded, such as a value of which only a part is searched.
NOT_EMBEDDED: Final = "not_embedded"
#: How many words of a query are searched, the longest first.
MOST_WORDS: Final = 32

SearchMode: TypeAlias = Literal["semantic", "keyword", "hybrid"]
#: Namespace → the build to read there.
RecordBuilds: TypeAlias = Mapping[UUID, int]
#: A record's namespace, stream and id.
RecordKey: TypeAlias = tuple[UUID, UUID, str]
#: A record with its stream and its user.
ChangedRecord: TypeAlias = tuple[UUID, str, Record]


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record, its owner, and when it was last read; *access_count* counts the reads that were recorded."""

    namespace_id: UUID
    stream_id: UUID
    user_id: str
    record: Record
    last_accessed: datetime
    access_count: int = 0

    @property
    def key(self) -> RecordKey:
        """What identifies the record."""
        return self.namespace_id, self.stream_id, self.record.record_id


class RecordAccess(msgspec.Struct, frozen=True):
    """When a record was last read, and how often."""

    namespace_id: UUID
    stream_id: UUID
    record_id: str
    last_accessed: datetime
    access_count: int = 0

    @property
    def key(self) -> RecordKey:
        """What identifies the record."""
        return self.namespace_id, self.stream_id, self.record_id


class RecordEvents(msgspec.Struct, frozen=True):
    """Events of record streams, each with its user, up to a *position*."""

    position: int
    events: list[tuple[str, StoredEvent]]


class RecordLookup(msgspec.Struct, frozen=True, kw_only=True):
    """Records to look up: those with one of the ids, live or not, and live ones with one of the identities.

    With *streams*, only records of these streams.
    """

    record_ids: tuple[str, ...] = ()
    identities: tuple[bytes, ...] = ()
    streams: tuple[UUID, ...] | None = None


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query for live records that meet all *conditions*.

    Without *text*: all of them, newest or oldest first. With it: those that contain a word of it, or are similar in
    meaning. *vector* is the query's embedding by *model*; *alpha* is the weight of meaning in a hybrid score.
    *recency* ranks before paging.
    """

    conditions: tuple[FilterCondition, ...] = ()
    text: str | None = None
    mode: SearchMode = "keyword"
    vector: tuple[float, ...] | None = None
    model: str = ""
    alpha: float = 0.7
    distance_threshold: float | None = None
    recency: Recency | None = None
    now: datetime
    language: SearchLanguage = "simple"
    oldest_first: bool = False
    limit: int = 10
    offset: int = 0


class RecordHit(msgspec.Struct, frozen=True):
    """A record that was found; *score* is 0 to 1, or None for a query without text."""

    stored: StoredRecord
    score: float | None = None


class RecordHitPage(msgspec.Struct, frozen=True):
    """A page of hits, and the total number of hits."""

    total: int
    hits: list[RecordHit]


class RecordStore(Protocol):
    """The stored projection ``records``; *build* as in `stored_projections.Checkpoint`.

    Reads of records are counted apart: they are not events, so a rebuild cannot restore them (http W-32).
    Embeddings may lag (style §4).
    """

    async def read_events(self, after: Mapping[UUID, int], *, limit: int) -> dict[UUID, RecordEvents]:
        """Return the events about records of several namespaces, by namespace.

        Of each namespace those within *limit* positions after its position in *after*; from the beginning on, those
        within *limit* positions from the first one on.
        """
        ...

    async def save(
        self,
        namespace_id: UUID,
        build: int,
        records: Sequence[ChangedRecord],
        *,
        after: int,
        position: int,
        language: SearchLanguage,
    ) -> int | None:
        """Store *records*, each with stream and user, and record that *build* is folded up to *position*.

        Return the position reached. If *build* is no longer at *after*, another process was faster and nothing is
        written. Return None if the build does not exist (any more).
        """
        ...

    async def save_all(
        self, pages: Iterable[FoldedPage[ChangedRecord]], *, language: SearchLanguage, begin_as: bytes | None = None
    ) -> dict[UUID, int | None]:
        """Save pages of several namespaces as `save` does, in one transaction; return the positions reached.

        With *begin_as*, a code digest, the builds of namespaces that have none begin, live.
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist and return how many."""
        ...

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return the names of the namespaces that ever had a record."""
        ...

    async def find(self, builds: RecordBuilds, wanted: RecordLookup) -> list[StoredRecord]:
        """Return the records *wanted*, ordered by namespace, stream and id."""
        ...

    async def duplicates(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[StoredRecord]:
        """Return the live records, except messages, with the same content as another record of their stream."""
        ...

    async def search(self, builds: RecordBuilds, query: RecordQuery) -> RecordHitPage:
        """Return a page of hits, best first, equal scores newest first. Accepts any text."""
        ...

    async def touch(self, keys: Sequence[RecordKey], *, now: datetime, pause_s: float) -> None:
        """Count a read of the records at *now*, except records read less than *pause_s* seconds before."""
        ...

    async def seed_accesses(self, accesses: Sequence[RecordAccess]) -> None:
        """Store the last read of imported records, except of records that have one already."""
        ...

    async def stores_embeddings(self) -> bool:
        """Return whether embeddings can be stored; it needs pgvector on the server."""
        ...

    async def to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[StoredRecord]:
        """Return live records whose text has no embedding by *model*, oldest first, except those of `NOT_EMBEDDED`."""
        ...

    async def save_embeddings(self, model: str, embeddings: Sequence[tuple[StoredRecord, Sequence[float]]]) -> None:
        """Store embeddings of the records' texts, replacing existing ones."""
        ...
