"""The contents of answers: every documented key, also if it is null. Source: http W-6 … W-9, W-18, W-29, W-40."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from ledger.application.writing.put_working_memory import stamp_of
from ledger.events import JsonObject, MemoryFields, to_datetime
from ledger.events.names import DEFAULT_NAMESPACE
from ledger.server.compat.compat_limits import ContextLimit
from ledger.session.merge.merge_fields import context_text, shown_data
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.records.records import memory_hash
from projections.strategies.progressive import Progressive
from projections.truncation import newest, newest_within, versions_without
from projections.usage import context_usage, fitting, most_recent
from projections.values import ranges
from projections.working_memory import Memory, ServedView

#: The published client refuses messages with a time later than now plus this.
_FURTHEST_AHEAD: Final = timedelta(seconds=300)


class View(msgspec.Struct, frozen=True):
    """The messages of an answer, and the view of a model if some were left out."""

    entries: tuple[Entry, ...]
    served: ServedView | None = None


def view_of(state: SessionState, limit: ContextLimit, *, recent: int | None = None) -> View:
    """Return the messages of an answer: the newest *recent* by their own time, as many as fit the limit.

    Source: http W-17, W-43, W-55.
    """
    entries = state.window.entries
    bounded = limit.given and limit.tokens > 0
    if recent is None:
        shown = newest_within(entries, limit.tokens) if bounded else tuple(entries)
    else:
        shown = newest(entries, recent) if recent > 0 else most_recent(entries, recent)
        shown = fitting(shown, limit.tokens) if bounded else shown
    if len(shown) == len(entries):
        return View(shown)
    return View(shown, ServedView(state.version, shown[0].version, versions_without(entries, shown)))


def working_memory(
    state: SessionState,
    view: View,
    limit: ContextLimit,
    *,
    session_id: str,
    namespace: str,
    user_id: str,
    threshold: Any,
) -> JsonObject:
    """Return a session in the shape of the working-memory API."""
    extraction = state.working.extraction
    used, until = _percentages(view.entries, limit, threshold)
    return {
        "messages": [message(entry, state) for entry in view.entries],
        "memories": [memory(item) for item in state.working.memories],
        "data": shown_data(state.working.data),
        "context": context_text(state) or None,
        "user_id": user_id or None,
        "tokens": state.working.tokens,
        "session_id": session_id,
        "namespace": None if namespace == DEFAULT_NAMESPACE else namespace,
        "long_term_memory_strategy": {"strategy": extraction.strategy, "config": extraction.config},
        "ttl_seconds": state.working.ttl_seconds,
        "last_accessed": moment(stamp_of(state)),
        "created_at": moment(to_datetime(state.created_us)),
        "updated_at": moment(to_datetime(state.updated_us)),
        "context_percentage_total_used": used,
        "context_percentage_until_summarization": until,
    }


def message(entry: Entry, state: SessionState) -> JsonObject:
    """Return an entry as a message, also one that the native API wrote."""
    flags = state.working.flags
    return {
        "role": entry.role,
        "content": entry.content,
        "id": entry.entry_id,
        "created_at": moment(_created_at(entry)),
        "persisted_at": moment(flags.persisted_at(entry.version)) if flags.persisted else None,
        "discrete_memory_extracted": "t" if ranges.contains(flags.extracted, entry.version) else "f",
    }


def _created_at(entry: Entry) -> datetime:
    """Return the time of an entry as its client set it, unless clients would refuse it as too far in the future."""
    recorded = to_datetime(entry.recorded_us)
    return entry.created_at if entry.created_at - recorded <= _FURTHEST_AHEAD else recorded


def memory(memory: Memory) -> JsonObject:
    """Return a memory of a session as a record (http W-29)."""
    created = moment(memory.created_at)
    return record(
        memory.memory_id,
        memory.fields,
        created_at=created,
        updated_at=created,
        last_accessed=created,
        persisted_at=moment(memory.persisted_at),
    )


def record(
    record_id: str,
    fields: MemoryFields,
    *,
    created_at: str | None,
    updated_at: str | None,
    last_accessed: str | None,
    persisted_at: str | None,
    access_count: int = 0,
) -> JsonObject:
    """Return a memory with all fields of a record (http W-29)."""
    return {
        "id": record_id,
        "text": fields.text,
        "session_id": fields.session_id,
        "user_id": fields.user_id,
        "namespace": fields.namespace,
        "last_accessed": last_accessed,
        "created_at": created_at,
        "updated_at": updated_at,
        "pinned": fields.pinned,
        "access_count": access_count,
        "topics": fields.topics,
        "entities": fields.entities,
        "memory_hash": memory_hash(fields, user_id=fields.user_id, namespace=fields.namespace),
        "discrete_memory_extracted": "t" if fields.extracted else "f",
        "memory_type": fields.memory_type,
        "persisted_at": persisted_at,
        "extracted_from": fields.extracted_from,
        "event_date": moment(fields.event_date),
        "extraction_strategy": fields.extraction_strategy,
        "extraction_strategy_config": fields.extraction_strategy_config,
        "metadata": fields.metadata,
    }


def moment(when: datetime | None) -> str | None:
    """Return a time as ISO 8601 in UTC with microseconds and ``Z`` (http W-6)."""
    if when is None:
        return None
    return f"{when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _percentages(entries: Sequence[Entry], limit: ContextLimit, threshold: Any) -> tuple[float | None, float | None]:
    if not limit.given or limit.tokens <= 0:
        return None, None
    config = Progressive.model_construct(
        context_window=limit.context_window, model_name=limit.model_name, threshold=threshold
    )
    usage = context_usage(config, entries)
    return (usage.used, usage.until_summary) if usage else (None, None)
