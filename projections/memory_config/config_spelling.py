"""The spelling of a memory config: snake_case names, no nulls, one name for a type. Source: R-CFG-4, R-CFG-5."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.events.strict_json import check_value

_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_TWICE = "is given in two spellings; give it once"
_FIELD_ALIASES = {"preserve_message_types": "preserve", "formatter": "formatted_by"}
#: Most of what a config holds, and nothing to go down into.
_SCALARS = frozenset({str, int, float, bool, type(None)})
_TYPE_ALIASES = ("memory_strategy_id", "long_term_memory_id", "name")


def as_written(raw: Mapping[str, Any] | Sequence[Any], path: str) -> str:
    """Return *path*, the place of a fault in the canonical form, as the field of *raw* if that is at its top."""
    if not isinstance(raw, Mapping):
        return path
    fields = {_snake(str(name)): str(name) for name in raw}
    name = path.rpartition(".")[2]
    if re.split(r"\W", path)[0] in fields:
        return fields.get(path, path)
    names = (name, *_TYPE_ALIASES) if name == "type" else (name,)
    return next((fields[known] for known in names if known in fields), path)


def checked(raw: Any) -> JsonObject:
    """Return *raw* normalised, if it is JSON within the limits of all input (trust N-11)."""
    if not isinstance(raw, Mapping):
        raise InvalidInput("bad_config", "must be a JSON object", field="config")
    check_value(dict(raw), field="config")
    return _normalise(raw, "")


def _normalise(raw: Mapping[str, Any], path: str) -> JsonObject:
    """Return *raw* with snake_case keys, down through objects and lists."""
    plain: JsonObject = {}
    for name, value in raw.items():
        snake = name if name.islower() and name not in _FIELD_ALIASES else _snake(name)
        at = f"{path}.{snake}" if path else snake
        if snake in plain:
            raise InvalidInput("bad_config", _TWICE, field=at)
        plain[snake] = value if type(value) in _SCALARS else _normalise_value(value, at)
    return plain


def _snake(name: str) -> str:
    snake = _CAMEL.sub(lambda match: "_" + match.group(1).lower(), name)
    return _FIELD_ALIASES.get(snake, snake)


def _normalise_value(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        return _normalise(value, path)
    if isinstance(value, list | tuple):
        return [_normalise_value(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return value


def without_nulls(value: Any) -> Any:
    """Return *value* without its null fields, which stand for their defaults (R-CFG-4)."""
    if isinstance(value, dict):
        present = {name: item for name, item in value.items() if item is not None}
        return {name: item if type(item) in _SCALARS else without_nulls(item) for name, item in present.items()}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_types(plain: JsonObject) -> JsonObject:
    """Return canonical JSON whose strategies name their type by ``type`` (R-CFG-5)."""
    typed = dict(plain)
    if isinstance(typed.get("window"), dict):
        typed["window"] = with_type(typed["window"], {})
    if isinstance(typed.get("compactions"), list):
        typed["compactions"] = [
            with_type(item, {"rolling": "rolling_blocks"}) if isinstance(item, dict) else item
            for item in typed["compactions"]
        ]
    return typed


def with_type(strategy: JsonObject, values: Mapping[str, str]) -> JsonObject:
    """Return *strategy* with its type under ``type`` in snake_case; *values* are other names of types."""
    named = dict(strategy)
    for alias in _TYPE_ALIASES:
        if alias in named:
            if "type" in named:
                raise InvalidInput("bad_config", _TWICE, field="type")
            named["type"] = named.pop(alias)
    kind = named.get("type")
    if isinstance(kind, str):
        named["type"] = values.get(kind, kind.replace("-", "_"))
    return named
