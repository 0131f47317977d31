"""Compare rows of stored projections with what they should be; the words of a text are made by the database."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from ledger.events.ids import Stream
from ledger.ports.derived_rows import IndexedPart
from ledger.ports.job_queue import JOBS, SessionJobs
from ledger.ports.record_store import RECORDS_PROJECTION
from ledger.ports.search_index import SEARCH, StreamChange
from ledger.ports.session_index import SESSION_INDEX
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.job_queue import columns_of_jobs
from ledger.stores.postgres.record_store import record_columns
from ledger.stores.postgres.search_changes import columns_of_changes, columns_of_pieces
from projections.records.records import Record
from projections.words.languages import SearchLanguage

_QUERIES: Final = {
    path.stem: sa.text(path.read_text()) for path in (Path(__file__).parent / "derived_queries").glob("*.sql")
}


class PostgresDerivedRows:
    """See `ports.derived_rows.DerivedRows`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def strays(self, namespace_id: UUID, builds: Mapping[str, Sequence[int]]) -> list[tuple[str, UUID]]:
        own = {name: list(builds.get(name, ())) for name in (SESSION_INDEX, JOBS, SEARCH, RECORDS_PROJECTION)}
        return [(row[0], row[1]) for row in await self._rows("strays", namespace_id, own)]

    async def wrong_jobs(self, namespace_id: UUID, build: int, sessions: Sequence[SessionJobs]) -> set[UUID]:
        columns = columns_of_jobs(sessions)
        del columns["dues"]
        return {row[0] for row in await self._rows("wrong_jobs", namespace_id, {"build": build, **columns})}

    async def wrong_pieces(
        self, namespace_id: UUID, build: int, parts: Sequence[IndexedPart], *, language: SearchLanguage
    ) -> set[UUID]:
        lives = [(part.stream_id, life) for part in parts for life in part.pieces]
        added = [(stream_id, life.added_in, life.piece) for stream_id, life in lives]
        columns = columns_of_pieces(added, language=language)
        del columns["collections"]
        values = {
            "build": build,
            "parts": [part.stream_id for part in parts],
            "afters": [part.after for part in parts],
            "untils": [part.until for part in parts],
            "erased": [life.erased_in for _, life in lives],
            "removed": [life.removed_in for _, life in lives],
            **columns,
        }
        return {row[0] for row in await self._rows("wrong_pieces", namespace_id, values)}

    async def wrong_forks(
        self, namespace_id: UUID, build: int, streams: Sequence[UUID], changes: Sequence[StreamChange]
    ) -> set[UUID]:
        values = {"build": build, "checked": list(streams), **columns_of_changes(changes)}
        return {row[0] for row in await self._rows("wrong_forks", namespace_id, values)}

    async def wrong_terms(self, namespace_id: UUID, build: int) -> int:
        ((count,),) = await self._rows("wrong_terms", namespace_id, {"build": build})
        return int(count)

    async def wrong_records(
        self, stream: Stream, build: int, records: Sequence[Record], *, language: SearchLanguage
    ) -> list[str]:
        if not records:
            return []
        rows = [record_columns(stream.stream_id, stream.user_id, record, language=language) for record in records]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        values = {"build": build, **columns}
        return [row[0] for row in await self._rows("wrong_records", stream.namespace_id, values)]

    async def other_records(self, stream: Stream, build: int, known: Sequence[str]) -> list[str]:
        values = {"build": build, "stream": stream.stream_id, "known": list(known)}
        return [row[0] for row in await self._rows("other_records", stream.namespace_id, values)]

    async def _rows(self, query: str, namespace_id: UUID, values: Mapping[str, Any]) -> Sequence[Any]:
        async with self._pool.transaction(namespace_id, takes_time=True) as connection:
            found = await connection.execute(_QUERIES[query], {"namespace": namespace_id, **values})
            return found.all()
