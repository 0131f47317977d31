"""What happened: one frozen struct per event type, and the forms an event takes on its way.

`NewEvent` is what a writer hands to a store, `StoredEvent` what the store gives back (exact bytes), and
`RecordedEvent` what the folds read (decoded payload). Type names are literals that never change; a payload
that changes gets a new `schema_version` and a step in `upcasts` (DESIGN §4).
"""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, TypeAlias
from uuid import UUID

import msgspec

from ledger.errors import FailureReason

JsonObject: TypeAlias = dict[str, Any]

#: Inclusive pairs of versions, ascending and apart: ``((1, 90), (93, 93))``.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

Kind: TypeAlias = Literal[
    "message", "tool_call", "tool_result", "context", "system_instruction", "step_prompt", "step_result"
]
Role: TypeAlias = Literal["user", "assistant", "system", "tool"]
ToolStatus: TypeAlias = Literal["ok", "error"]
Action: TypeAlias = Literal["summarize", "erase"]
Effect: TypeAlias = Literal["replace", "overlay", "erase"]
Method: TypeAlias = Literal["llm", "callback", "heuristic", "imported"]
DiscardReason: TypeAlias = Literal["cleared", "covered", "erased", "changed", "evicted"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(microseconds: int) -> datetime:
    """Return the UTC moment *microseconds* after 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_microseconds(moment: datetime) -> int:
    """Return microseconds since 1970 of an aware *moment*, exactly."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


class _Payload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Base of all payloads; ``write_id`` is the same for all events of one batch (R-GEN-2)."""

    type: ClassVar[str]
    schema_version: ClassVar[int] = 1
    write_id: str

    @property
    def item_id(self) -> str | None:
        """The id of the entry the event is about, for the store's index; none for other events."""
        return None


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the structs inside payloads."""


class ImportedFrom(_Part, frozen=True):
    """Where an imported session came from; an own export also names its ledger and head."""

    format: str
    session_id: str
    user_id: str = ""
    namespace: str | None = None
    ledger_id: str | None = None
    version: int | None = None
    head_hash: str | None = None


class SessionOpened(_Payload, frozen=True):
    """A life of a session begins; *config* is the canonical memory config."""

    type = "session.opened"
    namespace: str
    user_id: str
    session_id: str
    config: JsonObject
    imported_from: ImportedFrom | None = None


class EntryAdded(_Payload, frozen=True):
    """One item joined the conversation (R-GEN-1); counts are facts and never recomputed (R-TOK-4)."""

    type = "entry.added"
    entry_id: str
    kind: Kind
    role: Role
    content: str
    tokens: int
    tokenizer: str
    fallback: bool = False
    data: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Any = None
    created_at: datetime | None = None
    metadata: JsonObject | None = None

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntryEdited(_Payload, frozen=True):
    """A client replaced an entry's text; its place stays (R-GEN-4). Absent fields are unchanged."""

    type = "entry.edited"
    entry_id: str
    entry_version: int
    content: str
    tokens: int
    tokens_before: int
    tokenizer: str
    fallback: bool = False
    role: Role | None = None

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class EntryRemoved(_Payload, frozen=True):
    """A client withdrew an entry; *tokens* left the window with it."""

    type = "entry.removed"
    entry_id: str
    entry_version: int
    tokens: int

    @property
    def item_id(self) -> str:
        """The entry's id."""
        return self.entry_id


class Block(_Part, frozen=True):
    """A rolling block: its number and its first and last item, all counted from 1 (R-001-3).

    The ids of its first and last entry are known once its summary is (R-001-8).
    """

    number: int
    first_item: int
    last_item: int
    first_id: str | None = None
    last_id: str | None = None


class PlannedCall(_Part, frozen=True):
    """A model call a compaction asks for; the hash is of messages, model and parameters (R-SUM-6)."""

    request_hash: str
    template_hash: str
    model: str | None = None
    parameters: JsonObject | None = None


class CompactionRequested(_Payload, frozen=True):
    """A compaction was planned; nothing has changed yet (R-CMP-1, R-CMP-3)."""

    type = "compaction.requested"
    compaction_id: str
    key: str
    strategy: str
    config: JsonObject
    action: Action
    effect: Effect
    covered: Ranges
    tokens: int
    seen_version: int
    automatic: bool
    reasons: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()
    target_tokens: int | None = None
    calls: tuple[PlannedCall, ...] = ()
    block: Block | None = None


class ModelOutput(_Part, frozen=True):
    """What one model call gave: replay takes it from here and never calls (DESIGN §2, R-WIF-4).

    Without *text* it is the text of the summary, word for word.
    """

    request_hash: str
    text: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Pass(_Part, frozen=True):
    """One pass of a Chain of Density: what it named anew, and how dense its summary is (R-COD-6)."""

    summary: str
    tokens: int
    entity_count: int
    density: float
    entities: tuple[str, ...] = ()


class CompactionCompleted(_Payload, frozen=True):
    """A compaction took effect: the covered entries left the window, or an overlay joined it (R-CMP-2).

    ``first_version`` is the place of the summary: that of the oldest entry it stands for, also through the
    summaries it folds (R-GEN-13). ``starts_at`` and ``ends_at`` are its time range (R-GEN-3); ``created_at``
    is that of an imported one. ``trust`` is the lowest of what went in (trust M-4). ``passes`` are those of a
    Chain of Density, and ``ended`` says why there were no more (R-COD-5).
    """

    type = "compaction.completed"
    schema_version = 2
    compaction_id: str
    key: str
    strategy: str
    effect: Effect
    covered: Ranges
    tokens_before: int
    folds: tuple[str, ...] = ()
    summary_id: str | None = None
    text: str = ""
    tokens_after: int = 0
    tokenizer: str = ""
    fallback: bool = False
    method: Method | None = None
    model: str | None = None
    outputs: tuple[ModelOutput, ...] = ()
    over_target: bool = False
    trust: str | None = None
    error: str | None = None
    first_version: int = 0
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    created_at: datetime | None = None
    block: Block | None = None
    passes: tuple[Pass, ...] = ()
    ended: str | None = None


class CompactionFailed(_Payload, frozen=True):
    """A compaction gave nothing usable; no entry left the window (R-CMP-6)."""

    type = "compaction.failed"
    compaction_id: str
    key: str
    reason: FailureReason
    detail: str = ""


class CompactionDiscarded(_Payload, frozen=True):
    """A result came too late: what it covered had changed meanwhile (R-CMP-5)."""

    type = "compaction.discarded"
    compaction_id: str
    key: str
    reason: DiscardReason


class SessionCleared(_Payload, frozen=True):
    """Window and summaries are empty from here; ``ended`` also ends the life of the session."""

    type = "session.cleared"
    ended: bool = False


class ConfigChanged(_Payload, frozen=True):
    """The whole new memory config; it acts from the next evaluation (R-CFG-9)."""

    type = "config.changed"
    config: JsonObject


class KnowledgeSource(_Part, frozen=True):
    """Part of a summary of some session of the namespace: that at *version*, so many characters from the first on."""

    session_id: str
    version: int
    first_character: int
    characters: int
    user_id: str = ""


class ContextRendered(_Payload, frozen=True):
    """Exactly this was handed to a model, who asked to have it recorded; it changes nothing.

    ``rendered_version`` is the version whose window was rendered, under the window strategy and config then in
    force. ``text_digest`` is the SHA-256 of the text, ``messages_digest`` that of the canonical JSON of the chat
    messages, ``config_digest`` that of the canonical JSON of the memory config. ``items`` are what was shown, in
    shown order: runs of entry versions, both ends included, and ids of summaries. ``recalled`` are the entries
    that a search brought back, each with its score; ``knowledge`` are the pieces of knowledge bases, best first.
    """

    type = "context.rendered"
    rendered_version: int
    strategy: str
    config_digest: str
    text_digest: str
    messages_digest: str
    tokens: int
    items: tuple[tuple[int, int] | str, ...] = ()
    recalled: tuple[tuple[int, float], ...] = ()
    knowledge: tuple[KnowledgeSource, ...] = ()


class OpaqueEvent(msgspec.Struct, frozen=True):
    """An event of a newer release: listed, exported and verified, but never folded (DESIGN §4)."""

    type: str
    schema_version: int
    payload: JsonObject

    @property
    def write_id(self) -> str:
        """The batch, if the newer release still writes one."""
        return str(self.payload.get("write_id", ""))


Event: TypeAlias = (
    EntryAdded
    | CompactionRequested
    | CompactionCompleted
    | CompactionFailed
    | CompactionDiscarded
    | EntryEdited
    | EntryRemoved
    | SessionOpened
    | SessionCleared
    | ConfigChanged
    | ContextRendered
)

EVENT_TYPES: dict[str, type[Event]] = {cls.type: cls for cls in Event.__args__}


class NewEvent(msgspec.Struct, frozen=True, gc=False):
    """An event on its way into a store; *payload* are the exact bytes that will be hashed and kept."""

    event_id: UUID
    type: str
    schema_version: int
    codec: int
    occurred_us: int
    actor: str
    payload: bytes
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: bytes | None = None


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as the store holds it: every hashed field (trust §3), and its payload bytes."""

    namespace_id: UUID
    stream_id: UUID
    version: int
    position: int
    event_id: UUID
    type: str
    schema_version: int
    codec: int
    occurred_us: int
    recorded_us: int
    actor: str
    payload_digest: bytes
    hash: bytes
    payload: bytes | None
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: bytes | None = None


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in the log and its decoded payload."""

    version: int
    position: int
    event_id: UUID
    occurred_us: int
    recorded_us: int
    actor: str
    payload: Event | OpaqueEvent

    @property
    def type(self) -> str:
        """The payload's type name, such as ``entry.added``."""
        return self.payload.type

    @property
    def occurred_at(self) -> datetime:
        """The client's claim of when it happened (trust R-8)."""
        return to_datetime(self.occurred_us)

    @property
    def recorded_at(self) -> datetime:
        """The server's clock when it was stored; only positions order (trust R-8)."""
        return to_datetime(self.recorded_us)
