"""The index of sessions in memory."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from ledger.events import ForkedFrom, to_microseconds
from ledger.ports import Clock
from ledger.ports.projection_store import FoldedPage
from ledger.ports.session_index import (
    EVERY_SESSION,
    SESSION_INDEX,
    IndexedSession,
    RowKey,
    SessionFilter,
)
from ledger.stores.in_memory.namespace_rows import StoredNamespace, begin_live


class InMemorySessionIndex:
    """See `ports.session_index.SessionIndexStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace], clock: Clock) -> None:
        self._namespaces = namespaces
        self._clock = clock

    async def rows(self, wanted: Sequence[RowKey]) -> dict[UUID, IndexedSession]:
        return {
            stream_id: row
            for namespace_id, build, stream_id in wanted
            if namespace_id in self._namespaces
            and (row := self._namespaces[namespace_id].index.get(build, {}).get(stream_id)) is not None
        }

    async def runs(self, wanted: Sequence[RowKey]) -> dict[UUID, dict[str, int]]:
        return {
            stream_id: dict(runs)
            for namespace_id, build, stream_id in wanted
            if namespace_id in self._namespaces
            and (runs := self._namespaces[namespace_id].runs.get(build, {}).get(stream_id))
        }

    async def save(
        self, namespace_id: UUID, build: int, rows: Sequence[IndexedSession], *, after: int, position: int
    ) -> int | None:
        namespace = self._namespaces.get(namespace_id)
        built = namespace.checkpoints.get((SESSION_INDEX, build)) if namespace else None
        if namespace is None or built is None or built.position != after:
            return built.position if built else None
        index = namespace.index.setdefault(build, {})
        runs = namespace.runs.setdefault(build, {})
        for row in rows:
            if row.new_runs:
                runs[row.stream_id] = {**dict(row.new_runs), **runs.get(row.stream_id, {})}
        index.update(
            {
                row.stream_id: msgspec.structs.replace(row, new_runs=())
                for row in rows
                if row.stream_id not in index or index[row.stream_id].version <= row.version
            }
        )
        moved = msgspec.structs.replace(built, position=position, updated_at=self._clock.now(), last_error=None)
        namespace.checkpoints[SESSION_INDEX, build] = moved
        return position

    async def save_all(self, pages: Iterable[FoldedPage[IndexedSession]], *, begin_as: bytes) -> dict[UUID, int | None]:
        reached: dict[UUID, int | None] = {}
        for namespace_id, build, after, position, rows in pages:
            if not after and namespace_id in self._namespaces:
                begin_live(self._namespaces[namespace_id], SESSION_INDEX, build, begin_as, self._clock.now())
            reached[namespace_id] = await self.save(namespace_id, build, rows, after=after, position=position)
        return reached

    async def prune(self, namespace_id: UUID) -> int:
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            return 0
        unused = [build for build in namespace.index if (SESSION_INDEX, build) not in namespace.checkpoints]
        for build in unused:
            namespace.runs.pop(build, None)
        return sum(len(namespace.index.pop(build)) for build in unused)

    async def page(
        self,
        namespace_id: UUID,
        build: int,
        *,
        wanted: SessionFilter = EVERY_SESSION,
        after: tuple[datetime, UUID] | None = None,
        limit: int = 100,
    ) -> list[IndexedSession]:
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            return []
        newest = sorted(
            (
                row
                for row in namespace.index.get(build, {}).values()
                if _is_wanted(wanted, row)
                and (wanted.run_id is None or _has_run(namespace, build, row.stream_id, wanted.run_id))
            ),
            key=lambda row: _newest_first(row.updated_at, row.stream_id),
        )
        if after is not None:
            newest = [row for row in newest if _newest_first(row.updated_at, row.stream_id) > _newest_first(*after)]
        return [msgspec.structs.replace(row, forked_from=_origin(namespace, row.stream_id)) for row in newest[:limit]]

    async def page_of_live(
        self, builds: Mapping[UUID, int], *, user_id: str | None, moment: datetime, limit: int
    ) -> tuple[int, list[IndexedSession]]:
        rows = [
            row
            for namespace_id, build in builds.items()
            if namespace_id in self._namespaces
            for row in self._namespaces[namespace_id].index.get(build, {}).values()
            if row.status == "live"
            and (row.expires_at is None or row.expires_at > moment)
            and (user_id is None or row.user_id == user_id)
        ]
        rows.sort(key=lambda row: (-to_microseconds(row.updated_at), row.session_id, row.stream_id))
        return len(rows), rows[:limit]


def _is_wanted(wanted: SessionFilter, row: IndexedSession) -> bool:
    return (
        wanted.user_id in {None, row.user_id}
        and (wanted.life is None or row.status_at(wanted.life.moment) == wanted.life.status)
        and (wanted.id_part is None or wanted.id_part in row.session_id)
        and (wanted.id_prefix is None or row.session_id.startswith(wanted.id_prefix))
        and (wanted.user_prefix is None or row.user_id.startswith(wanted.user_prefix))
        and (wanted.updated_after is None or row.updated_at > wanted.updated_after)
        and (wanted.updated_before is None or row.updated_at < wanted.updated_before)
    )


def _has_run(namespace: StoredNamespace, build: int, stream_id: UUID, run_id: str, until: int | None = None) -> bool:
    version = namespace.runs.get(build, {}).get(stream_id, {}).get(run_id)
    if version is not None and (until is None or version <= until):
        return True
    if stream_id not in namespace.parents:
        return False
    parent_id, at = namespace.parents[stream_id]
    return _has_run(namespace, build, parent_id, run_id, at if until is None else min(at, until))


def _origin(namespace: StoredNamespace, stream_id: UUID) -> ForkedFrom | None:
    if stream_id not in namespace.parents:
        return None
    parent_id, version = namespace.parents[stream_id]
    parent = namespace.names[parent_id]
    return ForkedFrom(session_id=parent.session_id, version=version, user_id=parent.user_id)


def _newest_first(updated_at: datetime, stream_id: UUID) -> tuple[int, UUID]:
    return -to_microseconds(updated_at), stream_id
