"""Any event there could be, for laws of codec and folds: built from the types of its fields."""

from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

from ledger.events import EVENT_TYPES, Event, JsonObject

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
PLAIN = {
    str: TEXT,
    bytes: st.binary(max_size=20),
    int: INTEGERS,
    bool: st.booleans(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    NoneType: st.none(),
    Any: JSON,
    JsonObject: st.dictionaries(TEXT, JSON, max_size=3),
    datetime: st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),  # noqa: DTZ001
}


def of_type(wanted: Any) -> st.SearchStrategy:
    if wanted in PLAIN:
        return PLAIN[wanted]
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Annotated:  # a mark, such as that of content
        return of_type(inner[0])
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, UnionType):
        return st.one_of(*map(of_type, inner))
    if origin is dict:
        return st.dictionaries(*map(of_type, inner), max_size=3)
    if origin is tuple and inner[-1] is ...:
        return st.lists(of_type(inner[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(of_type, inner))
    return struct(wanted)


def struct(cls: type) -> st.SearchStrategy:
    return st.builds(cls, **{field.name: of_type(field.type) for field in msgspec.structs.fields(cls)})


EVENTS: dict[str, st.SearchStrategy[Event]] = {name: struct(cls) for name, cls in EVENT_TYPES.items()}
