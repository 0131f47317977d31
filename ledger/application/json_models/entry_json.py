"""Entries, with what became of them, and summaries."""

from typing import Any, Literal

from pydantic import Field

from ledger.application.json_models.shapes import Id, Shape, Time
from ledger.events import JsonObject, Kind, Ranges, ToolStatus
from ledger.history.log_reads import FateStatus
from projections.log.history import PastEntryStatus


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


class TranscriptShape(Shape):
    """Entries since the last clear that were not removed, compacted or not, oldest first."""

    entries: tuple[EntryShape, ...]


class PoppedShape(Shape):
    """The entry that was taken away, or null if there was none, and the version of the session."""

    entry: EntryShape | None
    version: int


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


class EntryFateShape(Shape):
    """Why an entry is, or is not, in the window: one cause, and the version of the event that caused it."""

    status: FateStatus
    version: int | None
    sentence: str
    actor: str | None
    key: str | None = Field(description="Of the compaction.")
    summary_id: str | None = Field(description="Of the summary by which it left.")
    reasons: tuple[str, ...] = Field(description="Why the compaction was due.")


class EntryRecordShape(PastEntryShape):
    """An entry as it is now or was at a version, what became of it, and how it came to be so."""

    status: PastEntryStatus | Literal["not_yet"]  # type: ignore[assignment]  # one that came later has no other
    history: tuple[EntryChangeShape, ...]
    left_version: int | None = Field(description="Of the event that took it from the window.")
    fate: EntryFateShape | None = Field(description="Only with a version.")


class EntryRowShape(Shape):
    """An entry in a list: the beginning of its text, and what became of it."""

    entry_id: str
    version: int
    kind: Kind
    role: str
    tokens: int
    preview: str = Field(description="The first 200 characters.")
    length: int = Field(description="Characters in all.")
    created_at: Time
    tool_name: str | None
    tool_call_id: str | None
    tool_status: ToolStatus | None
    edited_version: int | None
    status: PastEntryStatus
    left_version: int | None = Field(description="Of the event that the status comes from.")
    summary_ids: tuple[str, ...]
    content: str | None = Field(description="Only with `full`, like `data` and `arguments`.")
    data: Any
    arguments: Any


class EntryRowsShape(Shape):
    """A page of entries, oldest first."""

    entries: tuple[EntryRowShape, ...]
    next_from: int | None = Field(description="The `from` of the next page; null at the end.")
    version: int


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
