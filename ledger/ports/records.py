"""The records of long-term memory, as a stored projection that can be searched.

Everything here may look through several namespaces at once, those that a credential permits; *builds* says which
build of the projection ``records`` to read in each (see `stored_projections.Checkpoint`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias
from uuid import UUID

import msgspec

from ledger.events import StoredEvent
from projections.recency import Recency
from projections.record_filters import FilterCondition
from projections.records import Record

#: The name of the stored projection, that of its checkpoints and its table.
RECORDS_PROJECTION: Final = "records"
#: So many words of a query are looked for, the longest.
MOST_WORDS: Final = 32

SearchMode: TypeAlias = Literal["semantic", "keyword", "hybrid"]
#: Namespace → the build to read there.
RecordBuilds: TypeAlias = Mapping[UUID, int]
#: What identifies a record: its namespace, its stream, its id.
RecordKey: TypeAlias = tuple[UUID, UUID, str]


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
    """Events of the streams that hold records, each with the user it is about, up to a *position*."""

    position: int
    events: list[tuple[str, StoredEvent]]


class RecordLookup(msgspec.Struct, frozen=True, kw_only=True):
    """Records to look up: those with one of the ids, found or not, and live ones with one of the identities.

    With *streams* only theirs.
    """

    record_ids: tuple[str, ...] = ()
    identities: tuple[bytes, ...] = ()
    streams: tuple[UUID, ...] | None = None


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query for live records that meet all *conditions*.

    Without *text* all of them, the newest first or the oldest. With it those that have a word of it, or a meaning:
    *vector* is that of the query, computed by *model*; *alpha* is the share of meaning in a hybrid score.
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
    language: str = "simple"
    oldest_first: bool = False
    limit: int = 10
    offset: int = 0


class RecordHit(msgspec.Struct, frozen=True):
    """A record that was found; *score* is 0 to 1, or none without a text."""

    stored: StoredRecord
    score: float | None = None


class RecordHitPage(msgspec.Struct, frozen=True):
    """A page of what was found, and how many there are in all."""

    total: int
    hits: list[RecordHit]


class RecordStore(Protocol):
    """The stored projection ``records``; *build* as in `stored_projections.Checkpoint`.

    Reads of records are counted beside it: they are no events, and no rebuild brings them back (http W-32).
    Embeddings may lag (design §6).
    """

    async def read_events(self, namespace_id: UUID, *, after: int, limit: int) -> RecordEvents:
        """Return the events about records among the *limit* positions after position *after*."""
        ...

    async def save(
        self,
        namespace_id: UUID,
        build: int,
        records: Sequence[tuple[UUID, str, Record]],
        *,
        after: int,
        position: int,
        language: str,
    ) -> int | None:
        """Put *records*, each with stream and user, in place and record that *build* is folded up to *position*.

        Return the position reached. If *build* is no longer at *after*, another process was faster, and nothing
        is done; none if there is no such build, or no longer.
        """
        ...

    async def prune(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that no longer exist; return how many."""
        ...

    async def namespaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return those of the namespaces that ever had a record, with their names."""
        ...

    async def find(self, builds: RecordBuilds, wanted: RecordLookup) -> list[StoredRecord]:
        """Return what is *wanted*, by namespace, stream and id."""
        ...

    async def duplicates(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[StoredRecord]:
        """Return the live records, messages apart, that say the same as another one of their stream."""
        ...

    async def search(self, builds: RecordBuilds, query: RecordQuery) -> RecordHitPage:
        """Return a page of what is found, best first; among equals the newest. No text is refused."""
        ...

    async def touch(self, keys: Sequence[RecordKey], *, now: datetime, pause_s: float) -> None:
        """Count a read of the records at *now*, but of none that was counted less than *pause_s* before."""
        ...

    async def seed_accesses(self, accesses: Sequence[RecordAccess]) -> None:
        """Record when records that are new here were last read elsewhere; what is recorded already stays."""
        ...

    async def stores_embeddings(self) -> bool:
        """Tell whether embeddings can be stored: the server may lack pgvector."""
        ...

    async def to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[StoredRecord]:
        """Return live records whose text has no embedding by *model*, the oldest first."""
        ...

    async def save_embeddings(self, model: str, embeddings: Sequence[tuple[StoredRecord, Sequence[float]]]) -> None:
        """Store embeddings of the texts the records have, in place of those there are."""
        ...
