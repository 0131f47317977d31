"""Writes docs/events.md from the event structs: ``python docs/reference.py``. A test compares the two."""

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from ledger import events
from ledger.events import (
    EVENT_TYPES,
    Block,
    Extraction,
    ForkedFrom,
    ImportedFrom,
    KnowledgeSource,
    Listed,
    MemoryFields,
    ModelOutput,
    Pass,
    PlannedCall,
    RecordSource,
)

_MODULES = ("session", "entries", "compactions", "contexts", "memories", "records")
TARGET = Path(__file__).with_name("events.md")

_PARTS = (
    ImportedFrom,
    ForkedFrom,
    Extraction,
    Listed,
    Block,
    PlannedCall,
    ModelOutput,
    Pass,
    KnowledgeSource,
    MemoryFields,
    RecordSource,
)
_HEAD = """# Events

Everything Memory Ledger knows is one of these {count} events. Nothing in the log is ever updated or deleted (the
application's role cannot, see [operating](operating.md#roles)). This page is made from `ledger/events/`.

Beside its payload each event has a place and a proof: `version` in its session (from 1, without gaps), `position` in
its namespace (from 1, without gaps, in the order of commits), `event_id` (a UUIDv7), `occurred_at` (the writer's
clock), `recorded_at` (the database's), `actor`, `payload_digest` and `hash`, which is chained to the hash of the
version before. `schema_version` counts the shapes a type's payload has had; older ones are upcast when they are read,
and an event of a newer release is listed, exported and verified, but never folded.

All payloads carry `write_id`, the same for all events of one atomic write. A field with a default is left out of the
stored JSON when it has that value.
"""


def events_markdown() -> str:
    """Return the page."""
    types = sorted(EVENT_TYPES.values(), key=_line)
    parts = [
        _HEAD.format(count=len(types)),
        *(f"## `{cls.type}`\n\n{_text(cls)}\n\n{_fields(cls)}" for cls in types),
        "# Parts of payloads\n",
        *(f"## {cls.__name__}\n\n{_text(cls)}\n\n{_fields(cls)}" for cls in _PARTS),
        f"# Values\n\n{_values()}",
    ]
    return "\n".join(parts)


def _line(cls: type) -> tuple[int, int]:
    """Return where *cls* stands in the source: of the modules in reading order, and in its own."""
    return _MODULES.index(cls.__module__.rpartition(".")[2]), inspect.getsourcelines(cls)[1]


def _text(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split()).replace("``", "`")


def _fields(cls: Any) -> str:
    hints = _hints(cls)
    rows = ["| field | type | default |", "| --- | --- | --- |"]
    for field in msgspec.structs.fields(cls):
        if field.name == "write_id":
            continue
        value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        default = "" if value is msgspec.NODEFAULT else f"`{msgspec.json.encode(value).decode()}`"
        rows.append(f"| `{field.name}` | {hints[field.name]} | {default} |")
    return "\n".join(rows) + "\n"


def _hints(cls: Any) -> dict[str, str]:
    """Return the fields' types as they are written in the source, which names the vocabularies."""
    written = dict(re.findall(r"^    (\w+): ([^=\n]+?)(?: = .*)?$", inspect.getsource(cls), re.MULTILINE))
    return {name: f"`{written.get(name, 'str')}`".replace("|", "\\|") for name in get_type_hints(cls)}


def _values() -> str:
    rows = ["| type | values |", "| --- | --- |"]
    for name in ("Kind", "Role", "ToolStatus", "Action", "Effect", "Method", "FailureReason", "DiscardReason"):
        values = ", ".join(f"`{value}`" for value in getattr(events, name).__args__)
        rows.append(f"| `{name}` | {values} |")
    rows.append("| `Ranges` | pairs of versions, both included, ascending and apart: `[[1, 90], [93, 93]]` |")
    rows.append("| `JsonObject` | a JSON object |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    TARGET.write_text(events_markdown())
