"""What of an event is content: an event without it has all that folds and proofs need. Source: trust D-3."""

from collections.abc import Mapping
from copy import copy
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import replace

S = TypeVar("S", bound=msgspec.Struct)


def is_content(kind: msgspec.inspect.Type) -> bool:
    """Tell whether a field of this type is marked as content."""
    return isinstance(kind, msgspec.inspect.Metadata) and bool((kind.extra or {}).get("content"))


def without_content(part: S) -> S:
    """Return an event, or a part of one, with each content field as empty as its type allows, also in its parts.

    A field with a default has that, a text without one is empty.
    """
    changed: dict[str, Any] = {name: copy(empty) for name, empty in _content_of(type(part)).items()}
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if name in changed:
            continue
        if isinstance(value, msgspec.Struct):
            changed[name] = without_content(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
            changed[name] = tuple(map(without_content, value))
    return replace(part, **changed)


@cache
def _content_of(cls: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Return the content fields of *cls*, each with what stands for no content."""
    inspected = msgspec.inspect.type_info(cls)
    assert isinstance(inspected, msgspec.inspect.StructType)
    return {field.name: _empty(field) for field in inspected.fields if is_content(field.type)}


def _empty(field: msgspec.inspect.Field) -> Any:
    if field.default is not NODEFAULT:
        return field.default
    return "" if field.default_factory is NODEFAULT else field.default_factory()
