"""The difference of two JSON objects as a JSON Patch (RFC 6902).

Objects are compared key by key; any other value that differs is replaced as a whole.
"""

from collections.abc import Iterator
from typing import Any

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json


def json_patch(before: JsonObject, after: JsonObject) -> list[JsonObject]:
    """Return the operations that turn *before* into *after*, in an order in which they can be applied."""
    return list(_operations(before, after, ""))


def _operations(before: JsonObject, after: JsonObject, path: str) -> Iterator[JsonObject]:
    for key, value in before.items():
        place = f"{path}/{_token(key)}"
        if key not in after:
            yield {"op": "remove", "path": place}
        elif isinstance(value, dict) and isinstance(after[key], dict):
            yield from _operations(value, after[key], place)
        elif not _same(value, after[key]):
            yield {"op": "replace", "path": place, "value": after[key]}
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "path": f"{path}/{_token(key)}", "value": value}


def _same(first: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON: ``1``, ``1.0`` and ``true`` are different."""
    return canonical_json(first) == canonical_json(other)


def _token(key: str) -> str:
    """Return *key* as a part of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
