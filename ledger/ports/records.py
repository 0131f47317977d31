"""What long-term memory needs from a store, and the shapes that pass through.

Everything here may look through several namespaces at once, those that a credential permits; *builds* says which
build of the projection ``records`` to read in each (see `indexes.Checkpoint`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, TypeAlias
from uuid import UUID

import msgspec

from ledger.events import StoredEvent
from projections.recency import Recency
from projections.record_filters import Condition
from projections.records import Record

#: The name of the stored projection, that of its checkpoints and its table.
RECORDS_PROJECTION: Final = "records"
#: So many words of a question are looked for, the longest.
MOST_WORDS: Final = 32

SearchMode: TypeAlias = Literal["semantic", "keyword", "hybrid"]
#: Namespace → the build to read there.
RecordBuilds: TypeAlias = Mapping[UUID, int]
#: What tells a record from every other one: its namespace, its stream, its id.
Place: TypeAlias = tuple[UUID, UUID, str]


class KeptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record, whose it is, and when it was last read; *access_count* counts the reads that were noted."""

    namespace_id: UUID
    stream_id: UUID
    user_id: str
    record: Record
    last_accessed: datetime
    access_count: int = 0

    @property
    def place(self) -> Place:
        """What tells it from every other record there is."""
        return self.namespace_id, self.stream_id, self.record.record_id


class RecordAccess(msgspec.Struct, frozen=True):
    """When a record was last read, and how often."""

    namespace_id: UUID
    stream_id: UUID
    record_id: str
    last_accessed: datetime
    access_count: int = 0

    @property
    def place(self) -> Place:
        """What tells it from every other record there is."""
        return self.namespace_id, self.stream_id, self.record_id


class RecordEvents(msgspec.Struct, frozen=True):
    """Events of the streams that hold records, each with the user it is about, up to a *position*."""

    position: int
    events: list[tuple[str, StoredEvent]]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Records to look up: those with one of the ids, found or not, and live ones with one of the identities.

    With *streams* only theirs.
    """

    record_ids: tuple[str, ...] = ()
    identities: tuple[bytes, ...] = ()
    streams: tuple[UUID, ...] | None = None


class RecordQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question for live records that keep all *conditions*.

    Without *text* all of them, the newest first or the oldest. With it those that have a word of it, or a meaning:
    *vector* is that of the question, made by *model*; *alpha* is the share of meaning in a hybrid score.
    *recency* ranks before paging.
    """

    conditions: tuple[Condition, ...] = ()
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

    kept: KeptRecord
    score: float | None = None


class RecordHits(msgspec.Struct, frozen=True):
    """A page of what was found, and how many there are in all."""

    total: int
    hits: list[RecordHit]


class RecordIndexStore(Protocol):
    """Keeping the stored projection; *build* as in `indexes.Checkpoint`."""

    async def record_events(self, namespace_id: UUID, *, after: int, limit: int) -> RecordEvents:
        """Return the events about records among the *limit* positions after position *after*."""
        ...

    async def save_records(
        self,
        namespace_id: UUID,
        build: int,
        records: Sequence[tuple[UUID, str, Record]],
        *,
        after: int,
        position: int,
        language: str,
    ) -> int | None:
        """Put *records*, each with stream and user, in place and note that *build* is folded up to *position*.

        Return the position reached. If *build* is not at *after* any more, somebody else was faster, and nothing
        is done; none if it is no build, or no longer one.
        """
        ...

    async def prune_records(self, namespace_id: UUID) -> int:
        """Delete the rows of builds that are none any more; return how many."""
        ...


class RecordReader(Protocol):
    """Looking up records."""

    async def record_spaces(self, namespace_ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return those of the namespaces that ever had a record, with their names."""
        ...

    async def find_records(self, builds: RecordBuilds, wanted: Wanted) -> list[KeptRecord]:
        """Return what is *wanted*, by namespace, stream and id."""
        ...

    async def duplicate_records(self, builds: RecordBuilds, *, user_id: str | None = None) -> list[KeptRecord]:
        """Return the live records, messages apart, that say the same as another one of their stream."""
        ...


class RecordSearchStore(Protocol):
    """Searching records."""

    async def search_records(self, builds: RecordBuilds, query: RecordQuery) -> RecordHits:
        """Return a page of what is found, best first; among equals the newest. No text is refused."""
        ...


class RecordAccessStore(Protocol):
    """Noting reads: no events, and nothing that a rebuild brings back (http W-32)."""

    async def touch_records(self, places: Sequence[Place], *, now: datetime, pause_s: float) -> None:
        """Count a read of the records at *places* at *now*, but of none that was counted less than *pause_s* before."""
        ...

    async def seed_accesses(self, accesses: Sequence[RecordAccess]) -> None:
        """Note when records that are new here were last read elsewhere; what is noted already stays."""
        ...


class RecordEmbeddingStore(Protocol):
    """Meanings of records; they may lag (DESIGN §6)."""

    async def embeds_records(self) -> bool:
        """Tell whether this store can keep embeddings: the server may lack pgvector."""
        ...

    async def records_to_embed(self, builds: RecordBuilds, model: str, *, limit: int) -> list[KeptRecord]:
        """Return live records whose text has no embedding by *model*, the oldest first."""
        ...

    async def save_record_embeddings(
        self, model: str, embeddings: Sequence[tuple[KeptRecord, Sequence[float]]]
    ) -> None:
        """Keep embeddings of the texts the records have, in place of those there are."""
        ...


class RecordStore(RecordIndexStore, RecordReader, RecordSearchStore, RecordAccessStore, RecordEmbeddingStore, Protocol):
    """Everything long-term memory keeps beside its events."""
