"""What is stored beside the log, as `verify` compares it with a replay (trust K-4)."""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

import msgspec

from ledger.events.ids import Stream
from ledger.ports.job_queue import SessionJobs
from ledger.ports.search_index import StreamChange
from projections.records.records import Record
from projections.words.languages import SearchLanguage
from projections.words.searchable_text import PieceLife


class IndexedPart(msgspec.Struct, frozen=True):
    """The pieces that search should have of the versions of a stream after *after*, up to *until*."""

    stream_id: UUID
    after: int
    until: int
    pieces: tuple[PieceLife, ...]


class DerivedRows(Protocol):
    """Finds rows of stored projections that are not as they should be; it changes nothing.

    *build* is as in `stored_projections.Checkpoint`, *language* is that of the index.
    """

    async def strays(self, namespace_id: UUID, builds: Mapping[str, Sequence[int]]) -> list[tuple[str, UUID]]:
        """Return the projections and streams of rows whose stream has no head; *builds* are by projection."""
        ...

    async def wrong_jobs(self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs]) -> set[UUID]:
        """Return the streams that have other jobs than *sessions* says; due times and attempts are not compared."""
        ...

    async def wrong_pieces(
        self, namespace_id: UUID, build: int, parts: Sequence[IndexedPart], *, language: SearchLanguage
    ) -> set[UUID]:
        """Return the streams that have other pieces than *parts* say; those of knowledge are not compared."""
        ...

    async def wrong_forks(
        self, namespace_id: UUID, build: int, streams: Sequence[UUID], changes: Sequence[StreamChange]
    ) -> set[UUID]:
        """Return those *streams* of which search says that they inherit something else, or changed it otherwise.

        *changes* are all that the forks among them made.
        """
        ...

    async def wrong_terms(self, namespace_id: UUID, build: int) -> int:
        """Return how many words have another count than the pieces of the build give."""
        ...

    async def wrong_records(
        self, stream: Stream, build: int, records: Sequence[Record], *, language: SearchLanguage
    ) -> list[str]:
        """Return the ids of those *records* whose row is missing or says something else."""
        ...

    async def other_records(self, stream: Stream, build: int, known: Sequence[str]) -> list[str]:
        """Return the ids of records of *stream* that are not *known*."""
        ...
