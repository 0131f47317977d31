"""Filters of long-term memory: JSON to conditions, and conditions to true or false. Pure. Source: http W-33.

All operators and all filters must hold. A field with one value counts as a list of one, an absent field as an empty
list; so a negation matches an absent field.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, assert_never, get_args

import msgspec

from ledger.errors import InvalidInput

TagField: TypeAlias = Literal[
    "session_id", "user_id", "namespace", "topics", "entities", "memory_type", "extraction_strategy"
]
DateField: TypeAlias = Literal["created_at", "last_accessed", "event_date"]
TagOperator: TypeAlias = Literal["eq", "ne", "any", "all", "none", "startswith"]
DateOperator: TypeAlias = Literal["gt", "gte", "lt", "lte", "eq", "ne", "between"]

TAG_FIELDS: Final[tuple[TagField, ...]] = get_args(TagField)
DATE_FIELDS: Final[tuple[DateField, ...]] = get_args(DateField)
#: Lists whose values are compared without case.
LISTS: Final = frozenset({"topics", "entities"})
MEMORY_TYPES: Final = ("message", "semantic", "episodic")

_TAGS: Final[dict[str, TagOperator]] = {
    "eq": "eq",
    "ne": "ne",
    "not_eq": "ne",
    "any": "any",
    "in_": "any",
    "in": "any",
    "all": "all",
    "none": "none",
    "not_in": "none",
    "startswith": "startswith",
}
_DATES: Final[dict[str, DateOperator]] = {
    "gt": "gt",
    "gte": "gte",
    "lt": "lt",
    "lte": "lte",
    "eq": "eq",
    "ne": "ne",
    "not_eq": "ne",
    "between": "between",
}
_OF_LISTS: Final = frozenset({"any", "all", "none"})
_TOLERATED: Final = frozenset({"field", "inclusive"})
_MOST_VALUES: Final = 1_000


class Tag(msgspec.Struct, frozen=True):
    """A condition on a text field; *values* are case-folded for topics and entities."""

    field: TagField
    operator: TagOperator
    values: tuple[str, ...]


class Date(msgspec.Struct, frozen=True):
    """A condition on a time; ``eq`` and ``ne`` compare whole seconds, ``between`` includes both ends."""

    field: DateField
    operator: DateOperator
    times: tuple[datetime, ...]


FilterCondition: TypeAlias = Tag | Date


def folded(field: str, text: str) -> str:
    """Return *text* as *field* compares it."""
    return text.casefold() if field in LISTS else text


def parse(body: Mapping[str, Any]) -> tuple[FilterCondition, ...]:
    """Return the conditions of all filters in the *body* of a search; other keys are ignored.

    Raises:
        InvalidInput: ``bad_filter``, with the path of the fault.
    """
    conditions: list[FilterCondition] = []
    for name in TAG_FIELDS:
        conditions += _tags(name, _operators(body, name, _TAGS))
    for date in DATE_FIELDS:
        conditions += _dates(date, _operators(body, date, _DATES))
    return tuple(conditions)


def tag_matches(condition: Tag, values: Sequence[str]) -> bool:
    """Tell whether *values*, folded like those of the condition, match it."""
    wanted = condition.values
    match condition.operator:
        case "eq":
            return wanted[0] in values
        case "ne":
            return wanted[0] not in values
        case "any":
            return any(name in values for name in wanted)
        case "all":
            return all(name in values for name in wanted)
        case "none":
            return not any(name in values for name in wanted)
        case "startswith":
            return any(value.startswith(wanted[0]) for value in values)
        case _:
            assert_never(condition.operator)


def date_matches(condition: Date, moment: datetime | None) -> bool:
    """Tell whether *moment* matches the condition; None matches only ``ne``."""
    if moment is None:
        return condition.operator == "ne"
    first, last = condition.times[0], condition.times[-1]
    match condition.operator:
        case "gt":
            return moment > first
        case "gte":
            return moment >= first
        case "lt":
            return moment < first
        case "lte":
            return moment <= first
        case "eq":
            return moment.replace(microsecond=0) == first.replace(microsecond=0)
        case "ne":
            return moment.replace(microsecond=0) != first.replace(microsecond=0)
        case "between":
            return first <= moment <= last
        case _:
            assert_never(condition.operator)


def moment_of(value: object, *, field: str) -> datetime:
    """Return a time from JSON; without an offset it is in UTC (http W-6).

    Raises:
        InvalidInput: ``bad_time``.
    """
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(_text(value, field))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        message = "must be a time in ISO 8601, such as 2026-05-01T12:00:00Z"
        raise InvalidInput("bad_time", message, field=field) from None


def _operators(body: Mapping[str, Any], name: str, spellings: Mapping[str, str]) -> dict[str, Any]:
    """Return the operators given for a field, without those that are null."""
    given = body.get(name)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _bad(name, f"must be an object with some of these operators: {', '.join(spellings)}")
    for key in given:
        if key not in spellings and key not in _TOLERATED:
            raise _bad(name, f"has an unknown operator; use some of {', '.join(spellings)}")
    used = {key: value for key, value in given.items() if key in spellings and value is not None}
    meant = {spellings[key] for key in used}
    for alone in ("startswith", "between"):
        if alone in meant and len(meant) > 1:
            raise _bad(name, f"give no other operator beside {alone}")
    for first, other in (("eq", "ne"), ("any", "all")):
        if {first, other} <= meant:
            raise _bad(name, f"give {first} or {other}, not both")
    return used


def _tags(name: TagField, given: Mapping[str, Any]) -> list[FilterCondition]:
    conditions: list[FilterCondition] = []
    for key, value in given.items():
        operator, field = _TAGS[key], f"{name}.{key}"
        values = _list(value, field) if operator in _OF_LISTS else [value]
        texts = [_text(value, field) for value in values]
        if operator == "startswith" and not texts[0]:
            raise _bad(field, "must not be empty")
        if name == "memory_type" and operator != "startswith" and not set(texts) <= set(MEMORY_TYPES):
            raise _bad(field, f"must be one of {', '.join(MEMORY_TYPES)}")
        conditions.append(Tag(name, operator, tuple(folded(name, text) for text in texts)))
    return conditions


def _dates(name: DateField, given: Mapping[str, Any]) -> list[FilterCondition]:
    conditions: list[FilterCondition] = []
    for key, value in given.items():
        operator, field = _DATES[key], f"{name}.{key}"
        times = _list(value, field) if operator == "between" else [value]
        if operator == "between" and len(times) != 2:
            raise _bad(field, "must be a list of two times")
        conditions.append(Date(name, operator, tuple(moment_of(time, field=field) for time in times)))
    return conditions


def _list(value: object, field: str) -> list[Any]:
    if not isinstance(value, list | tuple) or not value:
        raise _bad(field, "must be a list with at least one value")
    if len(value) > _MOST_VALUES:
        raise _bad(field, f"must have at most {_MOST_VALUES} values")
    return list(value)


def _text(value: object, field: str) -> str:
    if not isinstance(value, str) or "\x00" in value or not _is_unicode(value):
        raise _bad(field, "must be text")
    return value


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _bad(field: str, message: str) -> InvalidInput:
    return InvalidInput("bad_filter", message, field=field)
