"""Golden files of event types that have none yet, written by ``python -m tests.golden.histories``; never changed."""

from datetime import UTC, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from ledger.events import EVENT_TYPES, Event
from ledger.events.canonical import canonical_json

FOLDER: Final = Path(__file__).parent
_PLAIN: Final[dict[Any, tuple[Any, ...]]] = {
    int: (1, 2),
    bool: (True, False),
    float: (0.5, 1.5),
    bytes: (b"bytes",),
    Any: ("value",),
    datetime: (datetime(2026, 1, 1, 12, 30, 15, 250_000, UTC),),
}


def write_missing(folder: Path = FOLDER) -> list[Path]:
    """Write into *folder* a file for the newest schema of each type that has none there, and return the new files."""
    written = []
    for name, cls in EVENT_TYPES.items():
        path = folder / f"{name}.v{cls.schema_version}.json"
        if not path.exists():
            path.write_bytes(canonical_json(event_of(cls)) + b"\n")
            written.append(path)
    return written


def event_of(cls: type[Event]) -> Event:
    """Return an event in which each field has another value than its default."""
    return _struct(cls)


def _struct(cls: Any) -> Any:
    fields = msgspec.structs.fields(cls)
    return cls(**{field.name: _value(field.type, field.name, field.default) for field in fields})


def _value(wanted: Any, name: str, default: Any) -> Any:
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted is str:
        return "01KDXDNA0070R40G40R40M30E2" if name == "write_id" else name
    if wanted in _PLAIN:
        return next(each for each in _PLAIN[wanted] if type(each) is not type(default) or each != default)
    if origin is Annotated:  # a mark, such as that of content
        return _value(inner[0], name, default)
    if origin is Literal:
        return next(each for each in inner if each != default)
    if origin in (Union, UnionType):
        return _value(next(each for each in inner if each is not NoneType), name, default)
    if origin is dict:
        return {"key": _value(inner[1], name, None)}
    if origin is tuple:
        return tuple(_value(each, name, None) for each in inner if each is not ...)
    return _struct(wanted)
