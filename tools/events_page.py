"""Write docs/events.md from the event structs: ``python -m tools.events_page``. A test compares the two."""

import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from ledger import events
from ledger.events import (
    EVENT_TYPES,
    Block,
    ContentFacts,
    Extraction,
    ForkedFrom,
    ImportedFrom,
    KnowledgeSource,
    KnownToWriter,
    MemoryFields,
    ModelOutput,
    Pass,
    PlannedCall,
    RecordSource,
    ReturnedEntry,
    SummaryViewDefinition,
)
from tools.rules import without_rules

_MODULES = (
    "session_events",
    "entry_events",
    "compaction_events",
    "rebuild_events",
    "context_events",
    "key_value_events",
    "memory_events",
    "record_events",
    "token_events",
    "summary_view_events",
)
TARGET = Path(__file__).parents[1] / "docs" / "events.md"

_PARTS = (
    ImportedFrom,
    ForkedFrom,
    Extraction,
    ContentFacts,
    KnownToWriter,
    Block,
    PlannedCall,
    ModelOutput,
    Pass,
    ReturnedEntry,
    KnowledgeSource,
    MemoryFields,
    RecordSource,
    SummaryViewDefinition,
)
_HEAD = """# Events

The log holds these {count} event types, and nothing else. An event is never updated or deleted (the database refuses it
to the application's role, see [operating](operating.md#roles)). This page is made from `ledger/events/`.

Each event also has

| field | meaning |
| --- | --- |
| `version` | its number in the session, from 1, without gaps |
| `position` | its number in the namespace, from 1, without gaps, in the order of commits |
| `event_id` | a UUIDv7 |
| `occurred_at`, `recorded_at` | the time by the writer's clock, and by the database's |
| `actor` | who caused it; for events from an imported file what the file says, see `imported_from` |
| `schema_version` | the shape of the payload |
| `structure` | the fields that folds and proofs need, as JSON; it is never erased |
| `content` | the fields of a type `Content[…]`, as salted JSON; null if the event has none |
| `content_digest`, `hash` | the SHA-256 of the content; a hash chained to that of the version before |

Every payload has `write_id`, the same for all events of one atomic write. A field with its default value is left out of
the stored JSON. Payloads of an older shape are upcast when they are read. Events of a newer release are listed,
exported and verified, but never folded.
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
    """Return the position of *cls* in the source: the module's in reading order, and the line."""
    return _MODULES.index(cls.__module__.rpartition(".")[2]), inspect.getsourcelines(cls)[1]


def _text(cls: type) -> str:
    return " ".join(without_rules(cls.__doc__ or "").split()).replace("``", "`")


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
    """Return the fields' types as spelled in the source, with the names of the vocabularies."""
    written = dict(re.findall(r"^    (\w+): ([^=\n]+?)(?: = .*)?$", inspect.getsource(cls), re.MULTILINE))
    return {name: f"`{written.get(name, 'str')}`".replace("|", "\\|") for name in get_type_hints(cls)}


def _values() -> str:
    rows = ["| type | values |", "| --- | --- |"]
    for name in ("Kind", "Role", "ToolStatus", "Action", "Effect", "Method", "FailureReason", "DiscardReason"):
        values = ", ".join(f"`{value}`" for value in getattr(events, name).__args__)
        rows.append(f"| `{name}` | {values} |")
    rows.append("| `Ranges` | pairs of versions, both included, ascending and apart: `[[1, 90], [93, 93]]` |")
    rows.append("| `JsonObject` | a JSON object |")
    rows.append(
        "| `Content[…]` | content, of the type in brackets; the other fields are structure, which folds go by |"
    )
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    TARGET.write_text(events_markdown())
