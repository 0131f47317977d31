"""Items of other SDKs in the data of entries, complete and once. Source: adapters AD-5."""

import json
from functools import reduce
from operator import getitem
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.strict_json import check_value
from projections.entries import Entry

_FORMAT: Final = 1


def packed(sdk: str, item: JsonObject, content: str) -> JsonObject:
    """Return *item* as data, without the entry's own text *content*; what no data may have, as ASCII text."""
    data: JsonObject = {"sdk": sdk, "v": _FORMAT, "item": item}
    try:
        check_value(data, field="data")
    except InvalidInput:
        return _as_text(sdk, item)
    if has_whole_float(item):  # JSON in canonical form has no 1.0
        return _as_text(sdk, item)
    at = _place(item, content) if content else None
    return data if at is None else {**data, "item": _with(item, at, None), "at": at}


def _as_text(sdk: str, item: JsonObject) -> JsonObject:
    """Return *item* as data that holds its JSON as ASCII text."""
    return {"sdk": sdk, "v": _FORMAT, "json": json.dumps(item)}


def unpacked(sdk: str, entry: Entry) -> JsonObject | None:
    """Return a copy of the item of *entry* with the entry's current text; None if another writer added it."""
    data = entry.data
    if not isinstance(data, dict) or data.get("sdk") != sdk:
        return None
    if "json" in data:
        return dict(json.loads(data["json"]))
    item = dict(_copied(data["item"]))  # the entry is also in the memory of the process
    if "at" in data:
        *way, last = data["at"]
        reduce(getitem, way, item)[last] = entry.content
    return item


def has_whole_float(value: Any) -> bool:
    """Tell whether *value* has a float such as 1.0, which canonical JSON writes as an integer."""
    if isinstance(value, float):
        return value.is_integer()
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(has_whole_float, below))


def _place(value: Any, text: str) -> list[str | int] | None:
    """Return the way to the first string in *value* that equals *text*."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if item == text and isinstance(item, str):
            return [key]
        below = _place(item, text)
        if below is not None:
            return [key, *below]
    return None


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _with(value: Any, at: list[str | int], text: str | None) -> Any:
    """Return a copy of *value* with *text* at a place."""
    if not at:
        return text
    changed: Any = list(value) if isinstance(value, list) else dict(value)
    changed[at[0]] = _with(changed[at[0]], at[1:], text)
    return changed
