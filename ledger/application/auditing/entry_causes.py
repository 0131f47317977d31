"""Why an entry is, or is not, in the window at a version: one cause, with its event."""

from typing import Any, Final

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.window_views import shown_at
from ledger.events import CompactionCompleted, CompactionRequested, ConfigChanged, RebuildCompleted, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.departures import SummaryEnd, read_ends, read_request
from ledger.history.log_reads import EntryFate, EntryRecord, FateStatus
from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from projections.memory_config.budget import part_of
from projections.memory_config.config import load

_CONFIGURE: Final = (ConfigChanged, RebuildCompleted)
_MOST_FOLDS: Final = 1_000  # summaries that fold one another

#: Reasons of compactions, as people say them.
_REASONS: Final = {"manual": "somebody asked for it", "block_due": "a block of items was complete"}


async def fate_of(handle: NamespaceHandle, stream: Stream, state: SessionState, record: EntryRecord) -> EntryFate:
    """Return why the entry of *record* is, or is not, in the window of *state*."""
    if record.status == "not_yet":
        sentence = f"Not added yet at version {state.version}: it comes at version {record.version}."
        return EntryFate(status="not_yet", version=record.version, sentence=sentence)
    active = record.status == "active" or record.left_version is None
    if active or (record.status == "covered" and state.config.window.type == "recall"):
        shown = await _shown(handle, stream, state, record)
        if shown is not None or active:
            return shown or await _hidden(handle, stream, state)
    assert record.left_version is not None, "it is not active"
    versions = ((record.left_version, record.left_version),)
    (event,) = map(decode, await handle.services.store.events.read_versions(stream, versions))
    if isinstance(event.payload, CompactionCompleted):
        return await _compacted(handle, stream, state, event, event.payload)
    by = f" by {event.actor}" if event.actor else ""
    removed = record.status == "removed"
    sentence = f"Removed at version {event.version}{by}." if removed else f"Cleared at version {event.version}{by}."
    return EntryFate(
        status="removed" if removed else "cleared", version=event.version, actor=event.actor, sentence=sentence
    )


async def _shown(handle: NamespaceHandle, stream: Stream, state: SessionState, record: EntryRecord) -> EntryFate | None:
    """Return what says that the entry is shown, if it is: a search may bring back a covered one, too."""
    context, _ = await shown_at(handle, stream, state)
    recalled = dict(context.window.recalled)
    entry = next((entry for entry in context.entries if entry.version == record.version), None)
    if entry is None:
        return None
    part = part_of(entry, recalled, context.current_turn, context.config.preserved).replace("_", " ")
    sentence = f"In the window at version {state.version}, as part of: {part}."
    return EntryFate(status="shown", version=record.version, sentence=sentence)


async def _hidden(handle: NamespaceHandle, stream: Stream, state: SessionState) -> EntryFate:
    events = handle.services.store.events
    changed = [await events.find_newest(stream, each.type, until=state.version) for each in _CONFIGURE]
    at, strategy = max(*changed, state.life), state.config.window.type
    sentence = f"Active, but the window {strategy!r} of the config of version {at} does not show it."
    return EntryFate(status="hidden", version=at, sentence=sentence)


async def _compacted(
    handle: NamespaceHandle, stream: Stream, state: SessionState, event: RecordedEvent, payload: CompactionCompleted
) -> EntryFate:
    asked = await read_request(handle.services.store, stream, event)
    reasons: tuple[str, ...] = ()
    why = ""
    if asked is not None and isinstance(asked.payload, CompactionRequested):
        reasons = asked.payload.reasons
        why = (
            f", because {' and '.join(_reason_text(reason, asked.payload.config) for reason in reasons)}"
            if reasons
            else ""
        )
    status: FateStatus = "erased" if payload.effect == "erase" else "covered"
    version, name = event.version, payload.summary_id
    if name is None and status == "erased":
        sentence = f"Erased at version {version} by the compaction {payload.key!r}{why}."
    elif name is None:
        sentence = f"Covered before version {version}, which added it again; its summary was gone by then."
    else:
        last, end = await _standing(handle, stream, state, name, version)
        sentence = f"Covered at version {version} by {name}{why}."
        if last != name:
            sentence = f"{sentence[:-1]}; {last} stands for it now."
        if end is not None:
            status, version = "evicted_summary", end.version
            word = end.status if end.status in {"withdrawn", "retired"} else "dropped"
            sentence = f"{sentence[:-1]}; at version {version} {last} was {word}."
    return EntryFate(
        status=status,
        version=version,
        actor=event.actor,
        key=payload.key,
        summary_id=name,
        reasons=reasons,
        sentence=sentence,
    )


async def _standing(
    handle: NamespaceHandle, stream: Stream, state: SessionState, name: str, version: int
) -> tuple[str, SummaryEnd | None]:
    """Return the last summary that stood for what *name* of *version* covers, and how it ended, if it did."""
    live = {summary.summary_id for summary in state.summaries.live}
    for _ in range(_MOST_FOLDS):
        if name in live:
            return name, None
        ends = await read_ends(handle.services.store, stream, {name: version}, until=state.version)
        end = ends.get(name)
        if end is None:
            return name, SummaryEnd(await dropped_at(handle, stream, name, version, state.version), "evicted")
        if end.into is None:
            return name, end
        name, version = end.into, end.version
    return name, None


async def dropped_at(handle: NamespaceHandle, stream: Stream, summary_id: str, live: int, ended: int) -> int:
    """Return the version at which the state dropped a summary that is live at version *live*, and not at *ended*."""
    states = handle.services.states
    while live + 1 < ended:
        middle = (live + ended) // 2
        past = await states.past(stream, version=middle)

        def found(past: SessionState = past) -> bool:
            return end_of_batch(past).summaries.find(summary_id) is not None

        live, ended = (middle, ended) if await states.view(stream, past, found) else (live, middle)
    return ended


def _reason_text(reason: str, raw: dict[str, Any]) -> str:
    """Return a *reason* of a compaction with the config *raw*."""
    if reason in {"tokens", "near_limit"}:
        limit = load({"window": {"type": "full"}, "compactions": [raw]}).token_limit
        return f"tokens > {limit:,}" if limit else "tokens"
    if reason == "entries" and raw.get("max_entries"):
        return f"entries > {raw['max_entries']:,}"
    return _REASONS.get(reason, reason.replace("_", " "))
