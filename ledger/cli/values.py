"""The JSON of the reading commands: its keys are documented in docs/command-line.md and stay."""

from typing import Any

from ledger.codec import to_builtins
from ledger.events import RecordedEvent
from ledger.history.difference import Difference, Side
from ledger.ports.session_index import IndexedSession
from ledger.prices import Spending
from ledger.results import WhatIf
from ledger.search.finder import SearchResult
from projections import config as memory_config
from projections.entries import Entry
from projections.history import PastEntry
from projections.summaries import Summary


def session_value(row: IndexedSession) -> dict[str, Any]:
    """Return a row of ``sessions``."""
    return {
        "session_id": row.session_id,
        "user_id": row.user_id or None,
        "version": row.version,
        "entries": row.entries,
        "active": row.active,
        "summaries": row.summaries,
        "tokens": row.total_tokens,
        "status": row.status,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


def entry_value(past: PastEntry, shown: bool) -> dict[str, Any]:
    """Return an entry of ``show``, *shown* if the model sees it."""
    entry = past.entry
    return {
        **_brief(entry),
        "content": entry.content,
        "tool_name": entry.tool_name,
        "tool_call_id": entry.tool_call_id,
        "tool_status": entry.tool_status,
        "created_at": entry.moment,
        "metadata": entry.metadata,
        "status": past.status,
        "in_window": shown,
        "summary_ids": past.summary_ids,
    }


def summary_value(summary: Summary) -> dict[str, Any]:
    """Return a summary, of ``show`` and ``diff``."""
    return {
        "id": summary.summary_id,
        "text": summary.text,
        "tokens": summary.tokens,
        "original_tokens": summary.tokens_before,
        "covered": summary.covered,
        "folds": summary.folds,
        "method": summary.method,
        "model": summary.model,
        "created_at": summary.created_at,
    }


def found_value(found: SearchResult) -> dict[str, Any]:
    """Return what ``search`` found."""
    entry = found.entry
    return {
        "session_id": found.session_id,
        "user_id": found.user_id,
        "version": found.version,
        "kind": found.kind,
        "score": found.score,
        "text": found.text,
        "id": entry.entry_id if entry else found.summary.summary_id if found.summary else None,
        "role": entry.role if entry else None,
        "tool_name": entry.tool_name if entry else None,
        "before": [{**_brief(entry), "content": entry.content} for entry in found.before],
        "after": [{**_brief(entry), "content": entry.content} for entry in found.after],
    }


def event_value(event: RecordedEvent) -> dict[str, Any]:
    """Return an event of ``timeline``."""
    return {
        "version": event.version,
        "position": event.position,
        "event_id": event.event_id,
        "type": event.type,
        "schema_version": event.payload.schema_version,
        "actor": event.actor,
        "occurred_at": event.occurred_at,
        "recorded_at": event.recorded_at,
        "payload": to_builtins(event.payload),
    }


def difference_value(session_id: str, found: Difference) -> dict[str, Any]:
    """Return the answer of ``diff``."""
    return {
        "session_id": session_id,
        "config_changed": found.config_changed,
        "edited": [{"id": entry.entry_id, "version": entry.version} for entry, _ in found.edited],
        "a": _side_value(found.before),
        "b": _side_value(found.after),
    }


def what_if_value(found: WhatIf) -> dict[str, Any]:
    """Return the answer of ``what-if``."""
    return {
        **difference_value(found.session_id, found.difference),
        "version": found.version,
        "config": memory_config.dump(found.config),
        "compactions": [
            {
                "key": completed.key,
                "effect": completed.effect,
                "covered": completed.covered,
                "tokens_before": completed.tokens_before,
                "tokens_after": completed.tokens_after,
                "method": completed.method,
                "model": completed.model,
            }
            for completed in found.completed
        ],
        "failed": found.failed,
        "answers": found.answers,
        "estimated": found.estimated,
    }


def spending_value(spent: Spending) -> dict[str, Any]:
    """Return what compactions cost; the price is a JSON number, or null if a model has none."""
    return {
        "compactions": spent.compactions,
        "model_calls": spent.model_calls,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_usd": None if spent.cost_usd is None else float(spent.cost_usd),
    }


def _side_value(side: Side) -> dict[str, Any]:
    return {
        "version": side.version,
        "what_if": side.what_if,
        "spent": spending_value(side.spent),
        "window_tokens": side.window_tokens,
        "stats": side.stats,
        "only_entries": [_brief(entry) for entry in side.only_entries],
        "only_summaries": [summary_value(summary) for summary in side.only_summaries],
    }


def _brief(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.entry_id,
        "version": entry.version,
        "kind": entry.kind,
        "role": entry.role,
        "tokens": entry.tokens,
    }
