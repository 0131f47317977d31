"""The views that a service has served, for a week."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from ledger.events.ids import Stream
from ledger.stores.postgres import tables
from ledger.stores.postgres.connections import Pool
from projections.working_memory import ServedView

STORED_FOR: Final = timedelta(days=7)  # http W-55
#: A view that is served again this soon is not written again.
_FRESH: Final = timedelta(hours=1)
_MOST_SAVED: Final = 4_096
#: Old views that a new one removes: more than one, so that a backlog ends.
_PRUNED_AT_ONCE: Final = 100


class PostgresServedViews:
    """See `ports.served_views.ServedViewStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._saved: OrderedDict[tuple[UUID, str], datetime] = OrderedDict()

    async def save(self, stream: Stream, view: ServedView, *, now: datetime) -> None:
        key = stream.stream_id, view.key
        saved = self._saved.get(key)
        if saved is not None and saved <= now < saved + _FRESH:
            return
        table = tables.served_views
        row = {
            "namespace_id": stream.namespace_id,
            "stream_id": stream.stream_id,
            "view": key[1],
            "version": view.version,
            "first_version": view.first,
            "left_out": [bound for pair in view.omitted for bound in pair],
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
        # of any session: one that nobody opens again prunes nothing itself
        key_columns = table.c.stream_id, table.c.view
        oldest = (
            sa.select(*key_columns)
            .where(table.c.namespace_id == stream.namespace_id, table.c.served_at < now - STORED_FOR)
            .order_by(table.c.served_at)
            .limit(_PRUNED_AT_ONCE)
            .with_for_update(skip_locked=True)
        )
        old = sa.delete(table).where(table.c.namespace_id == stream.namespace_id, sa.tuple_(*key_columns).in_(oldest))
        async with self._pool.transaction(stream.namespace_id) as connection:
            if (await connection.execute(upsert)).rowcount:
                await connection.execute(old)
        self._saved[key] = now
        while len(self._saved) > _MOST_SAVED:
            self._saved.popitem(last=False)

    async def load(self, stream: Stream, *, now: datetime) -> list[ServedView]:
        table = tables.served_views.c
        wanted = sa.select(table.version, table.first_version, table.left_out).where(
            _of(stream), table.served_at >= now - STORED_FOR
        )
        async with self._pool.transaction(stream.namespace_id) as connection:
            return [
                ServedView(version, first, tuple(zip(bounds[::2], bounds[1::2], strict=True)))
                for version, first, bounds in await connection.execute(wanted)
            ]


def _of(stream: Stream) -> sa.ColumnElement[bool]:
    table = tables.served_views.c
    return sa.and_(table.namespace_id == stream.namespace_id, table.stream_id == stream.stream_id)
