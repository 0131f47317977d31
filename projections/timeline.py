"""A line of text for each event: what happened, to what."""

from typing import assert_never

from ledger.events import (
    CompactionCompleted,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ConfigChanged,
    ContextRendered,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    OpaqueEvent,
    Ranges,
    SessionCleared,
    SessionOpened,
)
from projections.ranges import size


def describe(event: Event | OpaqueEvent) -> str:
    """Return what *event* says, in a few words."""
    match event:
        case EntryAdded():
            who = f"{event.kind} {event.tool_name}" if event.tool_name else f"{event.role} {event.kind}"
            return f"{who}, {event.tokens} tokens: {event.content}"
        case EntryEdited():
            return f"entry {event.entry_version}, {event.tokens_before} → {event.tokens} tokens: {event.content}"
        case EntryRemoved():
            return f"entry {event.entry_version}, {event.tokens} tokens"
        case CompactionRequested() | CompactionCompleted() | CompactionFailed() | CompactionDiscarded():
            return f"{event.key}: {_compaction(event)}"
        case SessionOpened():
            origin = f", imported from {event.imported_from.format}" if event.imported_from else ""
            return f"{event.session_id} under {event.config.get('profile') or 'its own config'}{origin}"
        case SessionCleared():
            return "the session ended" if event.ended else "window and summaries are empty"
        case ConfigChanged():
            strategies = [event.config["window"], *event.config["compactions"]]
            return ", ".join(str(strategy.get("type")) for strategy in strategies)
        case ContextRendered():
            shown = sum(1 if isinstance(item, str) else item[1] - item[0] + 1 for item in event.items)
            return f"version {event.rendered_version} by {event.strategy}: {shown} items, {event.tokens} tokens"
        case OpaqueEvent():
            return f"written by a newer release (schema {event.schema_version})"
        case _:
            assert_never(event)


def _compaction(event: CompactionRequested | CompactionCompleted | CompactionFailed | CompactionDiscarded) -> str:
    match event:
        case CompactionRequested():
            why = ", ".join(event.reasons)
            return f"{size(event.covered)} entries ({spans(event.covered)}), {event.tokens} tokens; {why}"
        case CompactionCompleted():
            made = f"{event.tokens_before} → {event.tokens_after} tokens by {event.model or event.method}"
            return f"{size(event.covered)} entries ({spans(event.covered)}), {made}"
        case CompactionFailed():
            return f"{event.reason}: {event.detail}"
        case CompactionDiscarded():
            return event.reason
        case _:
            assert_never(event)


def spans(covered: Ranges) -> str:
    """Return ranges of versions as people write them: ``2-92, 94``."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in covered)
