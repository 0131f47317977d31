"""The bodies of requests, parsed leniently: unknown fields are ignored. Source: http W-3, W-16, W-29."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ledger.errors import InvalidInput
from ledger.events import Extraction, JsonObject, MemoryFields, Role
from ledger.events.canonical import canonical_json
from ledger.events.limits import METADATA_BYTES, NAME_BYTES, PAYLOAD_BYTES
from ledger.long_term_memory.record_drafts import check_fields
from ledger.server.http.strict_body import LenientBody
from ledger.session.entry_drafts import check_content
from ledger.session.merge.put_command import Body, BodyMemory, BodyMessage

MOST_MESSAGES: Final = 10_000
#: Leaves room for the rest of the event (trust N-5).
_LARGEST_FIELD: Final = PAYLOAD_BYTES - METADATA_BYTES


def _in_utc(moment: datetime) -> datetime:
    """Return *moment* in UTC, which is assumed if there is no offset (http W-6)."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside of the years 1 to 9999") from None


def _fits(name: str) -> str:
    if len(name.encode()) > NAME_BYTES:
        raise ValueError(f"has more than {NAME_BYTES} bytes")
    return name


def _no_flag(value: object) -> object:
    """Refuse true and false as numbers; text is accepted (http W-3)."""
    if isinstance(value, bool):
        raise ValueError("is a whole number")
    return value


UtcTime: TypeAlias = Annotated[datetime, AfterValidator(_in_utc)]
Whole: TypeAlias = Annotated[int, BeforeValidator(_no_flag)]
ItemId: TypeAlias = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_fits)]
Flag: TypeAlias = Literal["t", "f"]
MemoryType: TypeAlias = Literal["message", "semantic", "episodic"]
Strategy: TypeAlias = Literal["discrete", "summary", "preferences", "custom"]


class MessageBody(LenientBody):
    """A message in a body."""

    role: Role
    content: str
    id: ItemId | None = None
    created_at: UtcTime | None = None
    persisted_at: UtcTime | None = None
    discrete_memory_extracted: Flag = "f"

    def message(self) -> BodyMessage:
        """Return the body in the types of the merge."""
        return BodyMessage(
            role=self.role,
            content=self.content,
            id=self.id,
            created_at=self.created_at,
            persisted_at=self.persisted_at,
            extracted=self.discrete_memory_extracted == "t",
        )


class RecordBody(LenientBody):
    """A memory or record in a body; the fields that the server sets are ignored."""

    id: str | None = None
    text: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    created_at: UtcTime | None = None
    pinned: bool = False
    topics: list[str] | None = None
    entities: list[str] | None = None
    discrete_memory_extracted: Flag = "f"
    memory_type: MemoryType = "message"
    persisted_at: UtcTime | None = None
    extracted_from: list[str] | None = None
    event_date: UtcTime | None = None
    extraction_strategy: str = "discrete"
    extraction_strategy_config: JsonObject = Field(default_factory=dict)
    metadata: JsonObject = Field(default_factory=dict)

    def fields(self) -> MemoryFields:
        """Return the fields of the memory."""
        return MemoryFields(
            text=self.text or "",
            memory_type=self.memory_type,
            user_id=self.user_id,
            session_id=self.session_id,
            namespace=self.namespace,
            topics=None if self.topics is None else tuple(self.topics),
            entities=None if self.entities is None else tuple(self.entities),
            event_date=self.event_date,
            created_at=self.created_at,
            pinned=self.pinned,
            extracted=self.discrete_memory_extracted == "t",
            extracted_from=None if self.extracted_from is None else tuple(self.extracted_from),
            extraction_strategy=self.extraction_strategy,
            extraction_strategy_config=self.extraction_strategy_config,
            metadata=self.metadata,
        )

    def sent(self) -> frozenset[str]:
        """Return the names of the fields that were sent with a value."""
        named = {"extracted" if name == "discrete_memory_extracted" else name for name in self.model_fields_set}
        given = {name for name in named if getattr(self, _WIRE.get(name, name)) is not None}
        return frozenset(given - {"id", "created_at", "persisted_at"})

    def memory(self) -> BodyMemory:
        """Return the body in the types of the merge."""
        return BodyMemory(fields=self.fields(), id=self.id, sent=self.sent(), persisted_at=self.persisted_at)


_WIRE: Final = {"extracted": "discrete_memory_extracted"}


def check_records(records: list[RecordBody], what: str = "Memory") -> None:
    """Refuse records without text, and lists whose items contain the separator.

    Raises:
        ValueError: with the first fault.
    """
    for index, record in enumerate(records):
        if record.text is None or not record.text.strip():
            raise ValueError(f"{what} at index {index} has empty text")
        if record.id is not None and not record.id.strip():
            raise ValueError(f"{what} at index {index} has empty id")
        for name in ("topics", "entities", "extracted_from"):
            if any("," in item for item in getattr(record, name) or ()):
                raise ValueError(f"{what} at index {index} has a comma in {name}")


class StrategyBody(LenientBody):
    """How memories are extracted from messages."""

    strategy: Strategy = "discrete"
    config: JsonObject = Field(default_factory=dict)

    @model_validator(mode="after")
    def _custom_has_a_prompt(self) -> Self:
        prompt = self.config.get("custom_prompt")
        if self.strategy == "custom" and not (isinstance(prompt, str) and prompt.strip()):
            raise ValueError("the strategy custom needs config.custom_prompt")
        return self


class WorkingMemoryBody(LenientBody):
    """The body of a PUT; ``{}`` is valid."""

    messages: list[MessageBody] = Field(default_factory=list, max_length=MOST_MESSAGES)
    memories: list[RecordBody] = Field(default_factory=list, max_length=MOST_MESSAGES)
    data: JsonObject | None = None
    context: str | None = None
    user_id: str | None = None
    namespace: str | None = None
    tokens: Whole = Field(default=0, ge=0, le=2**53)
    long_term_memory_strategy: StrategyBody | None = None
    ttl_seconds: Whole | None = Field(default=None, ge=1, le=10**9)
    last_accessed: UtcTime | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, sent: Any) -> Any:
        """Treat null lists as empty, like absent ones."""
        if isinstance(sent, dict):
            return {name: value for name, value in sent.items() if value is not None or name not in _LISTS}
        return sent

    @model_validator(mode="after")
    def _memories_have_text(self) -> Self:
        check_records(self.memories)
        return self

    def body(self) -> Body:
        """Return the body in the types of the merge."""
        strategy = self.long_term_memory_strategy
        return Body(
            messages=tuple(message.message() for message in self.messages),
            memories=tuple(memory.memory() for memory in self.memories),
            data=self.data or {},
            context=self.context or "",
            tokens=self.tokens,
            extraction=None if strategy is None else Extraction(strategy=strategy.strategy, config=strategy.config),
            ttl_seconds=self.ttl_seconds,
            ttl_sent="ttl_seconds" in self.model_fields_set,
        )


_LISTS: Final = frozenset({"messages", "memories", "tokens"})


def check_body(sent: WorkingMemoryBody, *, now: datetime, future_s: int, timestamps: bool) -> None:
    """Refuse values of the right shape that are not valid or cannot be stored (http W-3, W-4).

    Raises:
        InvalidInput: with the first fault and its field.
    """
    _check_messages(sent.messages, now=now, future_s=future_s, timestamps=timestamps)
    _check_limits(sent)
    _check_ids([memory.id for memory in sent.memories], "memories")


def _check_limits(sent: WorkingMemoryBody) -> None:
    """Refuse what is too large for an event or a record, as in every other interface (trust N-3, N-5)."""
    for index, message in enumerate(sent.messages):
        check_content(message.content, field=f"messages.{index}.content")
    for index, memory in enumerate(sent.memories):
        check_fields(memory.id, memory.fields(), field=f"memories.{index}")
    strategy = sent.long_term_memory_strategy
    for name, value, limit in (
        ("data", sent.data, _LARGEST_FIELD),
        ("context", sent.context, _LARGEST_FIELD),
        ("long_term_memory_strategy.config", strategy and strategy.config, METADATA_BYTES),  # each record has a copy
    ):
        if value and len(canonical_json(value)) > limit:
            raise InvalidInput("content_too_large", f"at most {limit} bytes", field=name, limit=limit)


def _check_messages(messages: list[MessageBody], *, now: datetime, future_s: int, timestamps: bool) -> None:
    """Refuse impossible times, duplicate ids and blank messages."""
    latest = now + timedelta(seconds=future_s)
    for index, message in enumerate(messages):
        field = f"messages.{index}.created_at"
        if message.created_at is None and timestamps:
            raise InvalidInput("missing_timestamp", "created_at is required", field=field)
        if message.created_at is not None and message.created_at > latest:
            raise InvalidInput(
                "future_timestamp", f"created_at cannot be more than {future_s} seconds in the future", field=field
            )
    _check_ids([message.id for message in messages], "messages")
    for message in messages:
        if not message.content.strip():
            raise InvalidInput("blank_message", f"Message content cannot be empty (message ID: {message.id})")


def _check_ids(ids: list[str | None], field: str) -> None:
    """Refuse duplicate ids, since only one of the items could be stored."""
    seen: set[str] = set()
    for index, name in enumerate(ids):
        if name in seen:
            raise InvalidInput("duplicate_id", "another one before it has this id", field=f"{field}.{index}.id")
        if name is not None:
            seen.add(name)
