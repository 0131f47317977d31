"""A line of text for each event."""

from typing import assert_never

from ledger.events import (
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    CompactionRequested,
    ConfigChanged,
    ContextRendered,
    ContextSet,
    DataChanged,
    EntriesExtracted,
    EntriesIndexed,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    ExpirySet,
    JsonObject,
    KeptRemoved,
    KeptSet,
    MemoryAdded,
    MemoryEdited,
    MemoryPromoted,
    MemoryRemoved,
    OpaqueEvent,
    Ranges,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
    RecordCreated,
    RecordDeleted,
    RecordEdited,
    RecordEvent,
    RecordMerged,
    RecordRestored,
    SessionCleared,
    SessionOpened,
    SessionRestored,
    SummaryViewCreated,
    SummaryViewDeleted,
    SummaryViewEvent,
    SummaryViewPartitionSummarized,
    SummaryViewRunCompleted,
    SummaryViewRunFailed,
    SummaryViewRunRequested,
    SummaryViewRunStarted,
    TokenCreated,
    TokenRevoked,
)
from projections.values.ranges import size, union


def describe(event: Event | OpaqueEvent) -> str:
    """Return a short description of *event*."""
    match event:
        case EntryAdded() | EntryEdited() | EntryRemoved() | EntriesExtracted() | EntriesIndexed():
            return _entries(event)
        case CompactionRequested() | CompactionCompleted() | CompactionFailed() | CompactionDiscarded():
            return f"{event.key}: {_compaction(event)}"
        case CompactionContinued(continuation=counted):
            keys = {key for key, _ in counted.watermarks} | {str(each.config.get("key")) for each in counted.progress}
            return f"strategies go on: {', '.join(sorted(keys)) or 'items only'}"
        case RebuildRequested() | RebuildAnswered() | RebuildCompleted() | RebuildFailed() | EntriesReturned():
            return _rebuild(event)
        case ContextSet():
            return f"{event.tokens} tokens: {event.text}" if event.summary_id else "withdrawn"
        case MemoryAdded() | MemoryEdited() | MemoryRemoved() | MemoryPromoted():
            return _memory(event)
        case RecordCreated() | RecordEdited() | RecordRestored() | RecordMerged() | RecordDeleted():
            return _record(event)
        case TokenCreated() | TokenRevoked():
            return f"token {event.key_id}"
        case (
            SummaryViewCreated()
            | SummaryViewDeleted()
            | SummaryViewRunRequested()
            | SummaryViewRunStarted()
            | SummaryViewRunCompleted()
            | SummaryViewRunFailed()
            | SummaryViewPartitionSummarized()
        ):
            return _summary_view(event)
        case ContextRendered():
            shown = sum(1 if isinstance(item, str) else item[1] - item[0] + 1 for item in event.items)
            return f"version {event.rendered_version} by {event.strategy}: {shown} items, {event.tokens} tokens"
        case OpaqueEvent():
            return f"written by a newer release (schema {event.schema_version})"
        case _:
            return _session(event)


def _entries(event: EntryAdded | EntryEdited | EntryRemoved | EntriesExtracted | EntriesIndexed) -> str:
    match event:
        case EntryAdded():
            who = f"{event.kind} {event.tool_name}" if event.tool_name else f"{event.role} {event.kind}"
            return f"{who}, {event.tokens} tokens: {event.content}"
        case EntryEdited():
            return f"entry {event.entry_version}, {event.tokens_before} → {event.tokens} tokens: {event.content}"
        case EntryRemoved():
            return f"entry {event.entry_version}, {event.tokens} tokens"
        case EntriesExtracted():
            description = f"{len(event.record_ids)} memories by {event.strategy}"
            return f"{size(event.covered)} entries ({spans(event.covered)}), {description}"
        case EntriesIndexed():
            return f"{size(event.covered)} entries ({spans(event.covered)})"
        case _:
            assert_never(event)


def _session(
    event: SessionOpened
    | SessionCleared
    | SessionRestored
    | ConfigChanged
    | DataChanged
    | ExpirySet
    | KeptSet
    | KeptRemoved,
) -> str:
    match event:
        case KeptSet() | KeptRemoved():
            return event.item_id
        case SessionOpened():
            origin = f", imported from {event.imported_from.format}" if event.imported_from else ""
            if event.forked_from:
                origin += f", forked from {event.forked_from.session_id} at {event.forked_from.version}"
            return f"{event.session_id} under {event.config.get('profile') or 'its own config'}{origin}"
        case SessionCleared():
            return "the session ended" if event.ended else "window and summaries are empty"
        case SessionRestored():
            return "it goes on where it was when it expired"
        case ConfigChanged():
            return _strategies(event.config)
        case DataChanged():
            return ", ".join([*(f"{key} set" for key in event.set), *(f"{key} removed" for key in event.removed)])
        case ExpirySet():
            return "never" if event.ttl_seconds is None else f"{event.ttl_seconds} s after the last write"
        case _:
            assert_never(event)


def _strategies(config: JsonObject) -> str:
    return ", ".join(str(strategy.get("type")) for strategy in [config["window"], *config["compactions"]])


def _rebuild(
    event: RebuildRequested | RebuildAnswered | RebuildCompleted | RebuildFailed | EntriesReturned,
) -> str:
    match event:
        case EntriesReturned():
            return f"{len(event.entries)} entries ({spans(union([event.versions]))}) are in the window again"
        case RebuildRequested():
            return f"under {_strategies(event.config)}"
        case RebuildAnswered():
            return f"at version {event.until}, by {event.model or 'a model without a name'}"
        case RebuildCompleted():
            return f"under {_strategies(event.config)}; {len(event.retired)} summaries retired"
        case RebuildFailed():
            return f"{event.reason}: {event.detail}"
        case _:
            assert_never(event)


def _memory(event: MemoryAdded | MemoryEdited | MemoryRemoved | MemoryPromoted) -> str:
    match event:
        case MemoryAdded() | MemoryEdited():
            return f"{event.memory_id}: {event.fields.text}"
        case MemoryRemoved():
            return event.memory_id
        case MemoryPromoted():
            return f"{event.memory_id}, now record {event.record_id}"
        case _:
            assert_never(event)


def _record(event: RecordEvent) -> str:
    match event:
        case RecordCreated() | RecordEdited() | RecordRestored():
            return f"{event.record_id}: {event.fields.text}"
        case RecordMerged():
            return f"{event.record_id} stands for {', '.join(event.merged)} too"
        case RecordDeleted():
            return f"{event.record_id}, {event.reason}"
        case _:
            assert_never(event)


def _summary_view(event: SummaryViewEvent) -> str:
    match event:
        case SummaryViewCreated():
            return f"{event.view_id} by {', '.join(event.definition.group_by) or 'nothing'}"
        case SummaryViewDeleted():
            return event.view_id
        case SummaryViewPartitionSummarized():
            group = ", ".join(f"{name} {value}" for name, value in sorted(event.group.items())) or "everything"
            return f"{event.view_id}, {group}, {event.memory_count} records: {event.summary}"
        case SummaryViewRunFailed():
            return f"{event.view_id}, run {event.task_id}: {event.error}"
        case SummaryViewRunRequested() | SummaryViewRunStarted() | SummaryViewRunCompleted():
            return f"{event.view_id}, run {event.task_id}"
        case _:
            assert_never(event)


def _compaction(event: CompactionRequested | CompactionCompleted | CompactionFailed | CompactionDiscarded) -> str:
    match event:
        case CompactionRequested():
            why = ", ".join(event.reasons)
            return f"{size(event.covered)} entries ({spans(event.covered)}), {event.tokens} tokens; {why}"
        case CompactionCompleted():
            description = f"{event.tokens_before} → {event.tokens_after} tokens by {event.model or event.method}"
            return f"{size(event.covered)} entries ({spans(event.covered)}), {description}"
        case CompactionFailed():
            return f"{event.reason}: {event.detail}"
        case CompactionDiscarded():
            return event.reason
        case _:
            assert_never(event)


def spans(covered: Ranges) -> str:
    """Return ranges of versions as people write them: ``2-92, 94``."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in covered)
