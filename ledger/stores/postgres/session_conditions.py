"""Queries for pages of the index of sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ledger.events.names import text_after
from ledger.ports.session_index import IndexedSession, SessionFilter
from ledger.stores.postgres import tables

#: The columns of a row.
NAMES: Final = tuple(name for name in IndexedSession.__struct_fields__ if name not in {"forked_from", "new_runs"})
_TABLE: Final = tables.session_index.c
_NOTHING: Final[sa.ColumnElement[int]] = sa.literal_column("0")  # an offset, so that a query is planned by itself
_FIELDS: Final = tuple(_TABLE[name] for name in NAMES)


def page_query(
    namespace_id: UUID,
    build: int,
    wanted: SessionFilter,
    after: tuple[datetime, UUID] | None,
    limit: int,
    *,
    streams: Sequence[UUID] | None = None,
) -> sa.Select[Any]:
    """Return the query for a page of sessions, newest first, after the row that *after* names; if given, of *streams*.

    It runs after `IN_INDEX_ORDER`. Most pages are in the order of the index on times. Those by a prefix or of some
    streams are read in the order of another index, which makes the planner use that one, and then sorted.
    """
    rows = sa.select(*_FIELDS).where(
        _TABLE.namespace_id == namespace_id, _TABLE.projection_version == build, *_conditions(wanted)
    )
    if after is not None:
        moment, stream_id = after
        rows = rows.where(
            sa.or_(_TABLE.updated_at < moment, sa.and_(_TABLE.updated_at == moment, _TABLE.stream_id > stream_id))
        )
    found: sa.FromClause
    if streams is not None:
        given = sa.func.unnest(sa.cast(list(streams), ARRAY(sa.Uuid))).table_valued(sa.column("stream", sa.Uuid))
        given = given.render_derived()
        each = rows.where(_TABLE.stream_id.between(given.c.stream, given.c.stream)).order_by(_TABLE.stream_id)
        found = each.offset(_NOTHING).lateral()
        page = sa.select(found).select_from(given.join(found, sa.true()))
    elif wanted.id_prefix is not None or wanted.user_prefix is not None:
        name = _TABLE.session_id if wanted.id_prefix is not None else _TABLE.user_id
        found = rows.order_by(_by_code_point(name)).offset(_NOTHING).subquery()
        page = sa.select(found)
    else:
        return rows.order_by(_TABLE.updated_at.desc(), _TABLE.stream_id).limit(limit)
    return page.order_by(found.c.updated_at.desc(), found.c.stream_id).limit(limit)


def _conditions(wanted: SessionFilter) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if wanted.user_id is not None:
        found.append(_TABLE.user_id == wanted.user_id)
    if wanted.life is not None:
        life = wanted.life
        expired = sa.and_(_TABLE.status == "live", _TABLE.expires_at.is_not(None), _TABLE.expires_at <= life.moment)
        is_there = sa.and_(_TABLE.status == life.status, sa.not_(expired))
        found.append(expired if life.status == "expired" else is_there)
    if wanted.id_part is not None:
        found.append(sa.func.strpos(_TABLE.session_id, wanted.id_part) > 0)
    if wanted.id_prefix is not None:
        found += _begins(_TABLE.session_id, wanted.id_prefix)
    if wanted.user_prefix is not None:
        found += _begins(_TABLE.user_id, wanted.user_prefix)
    if wanted.updated_after is not None:
        found.append(_TABLE.updated_at > wanted.updated_after)
    if wanted.updated_before is not None:
        found.append(_TABLE.updated_at < wanted.updated_before)
    return found


def _begins(column: sa.Column[Any], prefix: str) -> list[sa.ColumnElement[bool]]:
    """Return the range of the texts with this *prefix*, which an index serves also under row security.

    The first condition is that of the index, and so stands there as it is.
    """
    name, end = _by_code_point(column), text_after(prefix)
    return [name > sa.literal_column("''"), name >= prefix, *([name < end] if end else [])]


def _by_code_point(column: sa.Column[Any]) -> sa.ColumnElement[str]:
    return sa.collate(column, "C")
