"""Conditions on records as SQL; `projections.records.record_filters` defines them. Source: http W-33."""

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from projections.records.record_filters import LISTS, Date, FilterCondition, Tag

#: The columns of a record's row by name, and ``last_accessed``.
Columns: TypeAlias = Mapping[str, sa.ColumnElement[Any]]


def where(condition: FilterCondition, columns: Columns) -> sa.ColumnElement[bool]:
    """Return *condition* for a record; the caller handles the namespace."""
    match condition:
        case Date():
            return _date(condition, columns[condition.field])
        case Tag(field=field) if field in LISTS:
            return _list(condition, columns[condition.field])
        case Tag():
            return _scalar(condition, columns[condition.field])
        case _:
            assert_never(condition)


def _scalar(condition: Tag, stored: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    column = sa.func.nullif(stored, "") if condition.field == "user_id" else stored  # "" stands for no user
    first = condition.values[0]
    match condition.operator:
        case "eq":
            return _known(column == first)
        case "ne":
            return column.is_distinct_from(first)
        case "any":
            return _known(column.in_(condition.values))
        case "all":
            return _known(sa.and_(*(column == value for value in condition.values)))
        case "none":
            return sa.or_(column.is_(None), column.not_in(condition.values))
        case "startswith":
            return _known(sa.func.starts_with(column, first))
        case _:
            assert_never(condition.operator)


def _list(condition: Tag, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    values = sa.cast(list(condition.values), ARRAY(sa.Text))
    match condition.operator:
        case "eq" | "all":
            return column.bool_op("@>")(values)
        case "ne" | "none":
            return sa.not_(column.bool_op("&&")(values))
        case "any":
            return column.bool_op("&&")(values)
        case "startswith":
            each = sa.func.unnest(column).table_valued(sa.column("name", sa.Text)).render_derived()
            return sa.exists(
                sa.select(1).select_from(each).where(sa.func.starts_with(each.c.name, condition.values[0]))
            )
        case _:
            assert_never(condition.operator)


def _date(condition: Date, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    first, last = condition.times[0], condition.times[-1]
    second = sa.func.date_trunc("second", column, "UTC")
    match condition.operator:
        case "gt":
            return _known(column > first)
        case "gte":
            return _known(column >= first)
        case "lt":
            return _known(column < first)
        case "lte":
            return _known(column <= first)
        case "eq":
            return _known(second == first.replace(microsecond=0))
        case "ne":
            return second.is_distinct_from(first.replace(microsecond=0))
        case "between":
            return _known(column.between(first, last))
        case _:
            assert_never(condition.operator)


def _known(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Return *condition*, false where the column is null."""
    return sa.func.coalesce(condition, sa.false())
