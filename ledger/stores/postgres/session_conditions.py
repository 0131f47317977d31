"""Queries for pages of the index of sessions."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from ledger.names import text_after
from ledger.ports.session_index import IndexedSession, SessionFilter
from ledger.stores.postgres import tables

#: The columns of a row; where a session was forked is not among them.
NAMES: Final = tuple(name for name in IndexedSession.__struct_fields__ if name != "forked_from")
_TABLE: Final = tables.session_index.c
_FIELDS: Final = tuple(_TABLE[name] for name in NAMES)


def page_query(
    namespace_id: UUID, build: int, wanted: SessionFilter, after: tuple[datetime, UUID] | None, limit: int
) -> sa.Select[Any]:
    """Return the query for a page of sessions, newest first, after the row that *after* names.

    It runs after `IN_INDEX_ORDER`. Most pages are in the order of the index on times. By a prefix, all that have it are
    read in the order of the index on these names, which makes the planner use that one, and then sorted.
    """
    rows = sa.select(*_FIELDS).where(
        _TABLE.namespace_id == namespace_id, _TABLE.projection_version == build, *_conditions(wanted)
    )
    if after is not None:
        moment, stream_id = after
        rows = rows.where(
            sa.or_(_TABLE.updated_at < moment, sa.and_(_TABLE.updated_at == moment, _TABLE.stream_id > stream_id))
        )
    if wanted.id_prefix is None and wanted.user_prefix is None:
        return rows.order_by(_TABLE.updated_at.desc(), _TABLE.stream_id).limit(limit)
    name = _TABLE.session_id if wanted.id_prefix is not None else _TABLE.user_id
    found = rows.order_by(_by_code_point(name)).offset(sa.literal_column("0")).subquery()
    return sa.select(found).order_by(found.c.updated_at.desc(), found.c.stream_id).limit(limit)


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
