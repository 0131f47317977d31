"""The shapes of answers, as OpenAPI shows them; `shapes` makes them."""

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel

_TEXTS: Final = {
    400: "It has the right shape and makes no sense.",
    401: "No credential, or one that does not hold.",
    403: "The credential is not for this.",
    404: "There is no such thing.",
    408: "It did not arrive in time.",
    409: "Somebody else was there, or several are meant.",
    412: "The session is not what the header says.",
    413: "It is too large.",
    415: "Only JSON in UTF-8 is read.",
    422: "It has not the right shape.",
    429: "Too many requests.",
    501: "Not there yet.",
    503: "It cannot be served now; try again later.",
    507: "The disk is full.",
}


class Fault(BaseModel):
    """What was wrong."""

    detail: str


class ShapeFault(BaseModel):
    """One thing that was wrong, and where."""

    type: str
    loc: list[str | int]
    msg: str


class ShapeFaults(BaseModel):
    """What was wrong with the shape of a request."""

    detail: list[ShapeFault] | str


def faults(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how OpenAPI documents answers of these statuses, and of those every route may give."""
    every = sorted({*statuses, 401, 403, 429, 503})
    return {
        status: {"model": ShapeFaults if status == 422 else Fault, "description": _TEXTS[status]} for status in every
    }


class Acknowledged(BaseModel):
    """It was done."""

    status: str


class Sessions(BaseModel):
    """A page of session ids, and how many there are in all."""

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
    """How memories are extracted."""

    strategy: str
    config: dict[str, Any]


class WorkingMemoryOut(BaseModel):
    """A session (http W-18)."""

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
