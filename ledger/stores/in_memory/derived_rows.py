"""Rows beside the log, in memory."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from ledger.events.ids import Stream
from ledger.ports.derived_rows import IndexedPart
from ledger.ports.job_queue import SessionJobs
from ledger.ports.search_index import StreamChange
from projections.records.records import Record
from projections.words.languages import SearchLanguage


class InMemoryDerivedRows:
    """See `ports.derived_rows.DerivedRows`; nobody but this process can have changed a row, so nothing is compared."""

    async def strays(self, namespace_id: UUID, builds: Mapping[str, Sequence[int]]) -> list[tuple[str, UUID]]:
        return []

    async def wrong_jobs(self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs]) -> set[UUID]:
        return set()

    async def wrong_pieces(
        self, namespace_id: UUID, build: int, parts: Sequence[IndexedPart], *, language: SearchLanguage
    ) -> set[UUID]:
        return set()

    async def wrong_forks(
        self, namespace_id: UUID, build: int, streams: Sequence[UUID], changes: Sequence[StreamChange]
    ) -> set[UUID]:
        return set()

    async def wrong_terms(self, namespace_id: UUID, build: int) -> int:
        return 0

    async def wrong_records(
        self, stream: Stream, build: int, records: Sequence[Record], *, language: SearchLanguage
    ) -> list[str]:
        return []

    async def other_records(self, stream: Stream, build: int, known: Sequence[str]) -> list[str]:
        return []
