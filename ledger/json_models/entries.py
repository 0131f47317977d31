"""Entries, with what became of them, and summaries."""

from typing import Any

from ledger.events import JsonObject, Kind, Ranges, ToolStatus
from ledger.json_models.base import Id, Shape, Time
from projections.history import PastEntryStatus


class EntryShape(Shape):
    """An entry, with the text it has now; *created_at* is when it was recorded, unless its writer gave a time."""

    entry_id: str
    version: int
    kind: Kind
    role: str
    content: str
    tokens: int
    tokenizer: str
    data: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Any = None
    created_at: Time
    recorded_at: Time
    edited_version: int | None = None
    metadata: JsonObject | None = None


class PastEntryShape(EntryShape):
    """An entry, what became of it, and the summaries that stand for it."""

    status: PastEntryStatus
    summary_ids: tuple[str, ...]


class EntryChangeShape(Shape):
    """An event about an entry, with the text and the role that it had from then on."""

    version: int
    event_id: Id
    type: str
    recorded_at: Time
    actor: str
    actor_claimed: bool
    content: str
    role: str


class EntryRecordShape(PastEntryShape):
    """An entry as it is now, what became of it, and how it came to be so."""

    history: tuple[EntryChangeShape, ...]


class AddedEntryShape(Shape):
    """Where an entry was put: keep the hash, it proves the event. *known*: it was there before."""

    entry_id: str
    version: int
    position: int
    event_id: str
    hash: str
    kind: str
    tokens: int
    tokenizer: str
    orphan: bool
    known: bool


class AddedShape(Shape):
    """What was added, in the order of the request, and the version that the session came to."""

    session_id: str
    version: int
    entries: tuple[AddedEntryShape, ...]


class SummaryShape(Shape):
    """A summary and the versions of what it stands for."""

    summary_id: str
    version: int
    key: str
    text: str
    tokens: int
    tokens_before: int
    covered: Ranges
    folds: tuple[str, ...]
    method: str | None
    model: str | None
    created_at: Time
