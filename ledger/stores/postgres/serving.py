"""What a service asks beside the log: sessions by id, and the views it has served."""

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ledger.ids import Stream
from ledger.ports.serving import Found
from ledger.session.put import ServedView
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool

KEPT: Final = timedelta(days=7)  # http W-55
#: A reader who asks again gets the same view: it is not written again that soon.
_FRESH: Final = timedelta(hours=1)
_MOST_NOTED: Final = 4_096


class Serving:
    """The `ports.serving.SessionFinder` and `ports.serving.ServedViews` of the store."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._noted: OrderedDict[tuple[UUID, str], datetime] = OrderedDict()

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[Found]:
        """See `ports.serving.SessionFinder.find_sessions`."""
        if not namespace_ids:
            return []
        streams = tables.streams.c
        wanted = (
            sa.select(streams.namespace_id, streams.user_id)
            .where(streams.session_id == session_id, streams.namespace_id.in_(namespace_ids), ~streams.ended)
            .order_by(streams.namespace_id, streams.user_id)
        )
        if user_id is not None:
            wanted = wanted.where(streams.user_id == user_id)
        async with self._pool.transaction(*namespace_ids) as connection:
            return [Found(*row) for row in await connection.execute(wanted)]

    async def note_view(self, stream: Stream, view: ServedView, *, now: datetime) -> None:
        """See `ports.serving.ServedViews.note_view`."""
        key = stream.stream_id, view.key
        noted = self._noted.get(key)
        if noted is not None and noted <= now < noted + _FRESH:
            return
        table = tables.served_views
        row = {
            "namespace_id": stream.namespace_id,
            "stream_id": stream.stream_id,
            "view": key[1],
            "version": view.version,
            "first_version": view.first,
            "left_out": [bound for pair in view.left_out for bound in pair],
            "served_at": now,
        }
        upsert = (
            insert(table)
            .values(row)
            .on_conflict_do_update(
                index_elements=table.primary_key.columns.keys(),
                set_={"served_at": now},
                where=table.c.served_at < now - timedelta(days=1),
            )
        )
        old = sa.delete(table).where(_of(stream), table.c.served_at < now - KEPT)
        async with self._pool.transaction(stream.namespace_id) as connection:
            if (await connection.execute(upsert)).rowcount:
                await connection.execute(old)
        self._noted[key] = now
        while len(self._noted) > _MOST_NOTED:
            self._noted.popitem(last=False)

    async def served_views(self, stream: Stream, *, now: datetime) -> list[ServedView]:
        """See `ports.serving.ServedViews.served_views`."""
        table = tables.served_views.c
        wanted = sa.select(table.version, table.first_version, table.left_out).where(
            _of(stream), table.served_at >= now - KEPT
        )
        async with self._pool.transaction(stream.namespace_id) as connection:
            return [
                ServedView(version, first, tuple(zip(bounds[::2], bounds[1::2], strict=True)))
                for version, first, bounds in await connection.execute(wanted)
            ]


def _of(stream: Stream) -> sa.ColumnElement[bool]:
    table = tables.served_views.c
    return sa.and_(table.namespace_id == stream.namespace_id, table.stream_id == stream.stream_id)
