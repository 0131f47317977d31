"""Check the definition of a summary view, and read its filters as conditions on records. Pure. Source: http W-36."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import SummaryViewDefinition
from projections.records.record_filters import Date, FilterCondition, Tag, parse

#: The fields by which a view can be grouped.
GROUP_FIELDS: Final = ("user_id", "namespace", "session_id", "memory_type")
FILTER_FIELDS: Final = (*GROUP_FIELDS, "extraction_strategy", "topics", "event_date")


def check_definition(definition: SummaryViewDefinition) -> SummaryViewDefinition:
    """Return *definition* if a view can have it.

    Raises:
        InvalidInput: ``bad_view``, for unknown fields; ``bad_filter``, for a filter that long-term memory refuses.
    """
    _refuse("group_by", definition.group_by, GROUP_FIELDS)
    _refuse("filter", definition.filters, FILTER_FIELDS)
    if len(set(definition.group_by)) != len(definition.group_by):
        raise InvalidInput("bad_view", "group_by must not name a field twice")
    conditions_of(definition)
    return definition


def conditions_of(definition: SummaryViewDefinition, *, now: datetime | None = None) -> list[FilterCondition]:
    """Return the conditions that a record of the view meets, other than its namespace.

    With *now*, the time window is one of them. A filter is a value, a list of which any may hold, or operators as in a
    search.

    Raises:
        InvalidInput: ``bad_filter``.
    """
    filters = {name: _operators(value) for name, value in definition.filters.items() if name != "namespace"}
    conditions = list(parse(filters))
    if now is not None and definition.time_window_days is not None:
        conditions.append(Date("created_at", "gte", (now - timedelta(days=definition.time_window_days),)))
    return conditions


def group_conditions(group: Mapping[str, str]) -> list[FilterCondition]:
    """Return the conditions that a record of the partition *group* meets, other than its namespace.

    Raises:
        InvalidInput: ``bad_filter``, for a value that no record can have.
    """
    wanted = {name: {"eq": value} for name, value in group.items() if name != "namespace"}
    return [condition for condition in parse(wanted) if isinstance(condition, Tag)]


def _operators(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return {"any": list(value)}
    return value if isinstance(value, Mapping) or value is None else {"eq": value}


def _refuse(what: str, named: Iterable[str], known: Iterable[str]) -> None:
    unknown = sorted(set(named) - set(known))
    if unknown:
        shown = ", ".join(name[:80] for name in unknown[:10])
        raise InvalidInput("bad_view", f"Unsupported {what} fields: {shown}; use some of {', '.join(known)}")
