"""The shapes of answers for the OpenAPI document; `shapes` makes the answers."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel


class AcknowledgedOut(BaseModel):
    """The request was carried out."""

    status: str


class SessionsOut(BaseModel):
    """A page of session ids, and the number of all sessions."""

    sessions: list[str]
    total: int


class MessageOut(BaseModel):
    """A message of a session."""

    role: str
    content: str
    id: str
    created_at: datetime
    persisted_at: datetime | None
    discrete_memory_extracted: str


class RecordOut(BaseModel):
    """A memory, of a session or of long-term memory."""

    id: str
    text: str
    session_id: str | None
    user_id: str | None
    namespace: str | None
    last_accessed: datetime | None
    created_at: datetime | None
    updated_at: datetime | None
    pinned: bool
    access_count: int
    topics: list[str] | None
    entities: list[str] | None
    memory_hash: str
    discrete_memory_extracted: str
    memory_type: str
    persisted_at: datetime | None
    extracted_from: list[str] | None
    event_date: datetime | None
    extraction_strategy: str
    extraction_strategy_config: dict[str, Any]
    metadata: dict[str, Any]


class StrategyOut(BaseModel):
    """The extraction strategy."""

    strategy: str
    config: dict[str, Any]


class WorkingMemoryOut(BaseModel):
    """A session."""

    messages: list[MessageOut]
    memories: list[RecordOut]
    data: dict[str, Any]
    context: str | None
    user_id: str | None
    tokens: int
    session_id: str
    namespace: str | None
    long_term_memory_strategy: StrategyOut
    ttl_seconds: int | None
    last_accessed: datetime
    created_at: datetime
    updated_at: datetime
    context_percentage_total_used: float | None
    context_percentage_until_summarization: float | None


class FoundRecordOut(RecordOut):
    """A record that a search found, and its distance."""

    dist: float
    score: float | None
    score_type: str | None


class RecordPageOut(BaseModel):
    """A page of records; *total* is the number of all matches."""

    memories: list[FoundRecordOut]
    total: int
    next_offset: int | None


class ForgottenOut(BaseModel):
    """The records that were deleted, or would be."""

    scanned: int
    deleted: int
    deleted_ids: list[str]
    dry_run: bool


class SummaryViewOut(BaseModel):
    """A summary view."""

    id: str
    name: str | None
    source: str
    group_by: list[str]
    filters: dict[str, Any]
    time_window_days: int | None
    continuous: bool
    prompt: str | None
    model_name: str | None


class PartitionOut(BaseModel):
    """The summary of one partition; *empty* if no memory matches."""

    view_id: str
    group: dict[str, str]
    summary: str
    memory_count: int
    empty: bool
    empty_reason: str | None
    computed_at: str


class TaskOut(BaseModel):
    """The status of a run."""

    id: str
    type: str
    status: str
    view_id: str
    created_at: str
    started_at: str | None
    completed_at: str | None
    error_message: str | None
