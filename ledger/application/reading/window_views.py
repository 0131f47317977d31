"""The window of a session, item by item: what is shown, by which part of the budget, and what is hidden."""

from datetime import datetime
from typing import Final, Literal, Unpack

import msgspec
from msgspec.structs import asdict, replace

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.context_audit import is_proved
from ledger.application.reading.contexts import context_of_state, shown_again
from ledger.application.reading.session_reads import existing_state
from ledger.events import ConfigChanged, ContextRendered, EntryAdded, Ranges, RecordedEvent
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.formats.importers.elements.steps import NOTE
from ledger.results import Context, When
from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.memory_config.budget import Budget, EntryPart, limit_path, part_of
from projections.summaries import Summary
from projections.values import ranges

MOST_ITEMS: Final = 1_000
_TEXT: Final = 2_000  # characters of an item
_CONTEXTS: Final = 100  # recorded contexts after a version that are looked at


class WindowBudget(Budget, frozen=True, kw_only=True):
    """The budget of a window; *limit_from* is the path of the config field that sets the limit."""

    limit_from: str | None = None


class WindowRecording(msgspec.Struct, frozen=True, kw_only=True):
    """The event that recorded a window, ``proved`` if what is shown has its digests."""

    version: int
    recorded_at: datetime
    actor: str
    verdict: Literal["proved", "differs"]


class WindowItem(msgspec.Struct, frozen=True, kw_only=True):
    """A shown entry, summary or piece of knowledge, with the beginning of its text and the *length* of all of it.

    *source* is the part of the budget that it counts for; pieces of knowledge are counted together, so their *tokens*
    are None. *gap* means that something is left out before it. *score* is that of the search that found it.
    """

    kind: Literal["entry", "summary", "knowledge"]
    id: str
    version: int
    tokens: int | None
    source: EntryPart | Literal["summary", "knowledge"]
    text: str
    length: int
    role: str | None = None
    entry_kind: str | None = None
    tool_name: str | None = None
    covered: Ranges = ()
    gap: bool = False
    score: float | None = None


class HiddenEntries(msgspec.Struct, frozen=True, kw_only=True):
    """Entries that are active, and why they are not shown."""

    versions: Ranges
    reason: Literal["window_strategy"] = "window_strategy"


class WindowNotKnown(msgspec.Struct, frozen=True, kw_only=True):
    """Why the log that a session was imported from does not tell what its agent sent, from *version* on."""

    version: int
    text: str
    line: int | None


class ShownWindow(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is shown at *version*: *total* items, some of them in *items*.

    *turn* counts interactions since the last clear, None before the first. If the window was *recorded*, it is the
    recorded one. *shown* and *recalled* are versions of entries, *summaries* ids, on all pages. *not_known* are the
    newest reasons why an imported window is not sure, *not_known_total* is how many there are since the last clear.
    """

    version: int
    config_version: int | None
    strategy: str
    turn: int | None
    recorded: WindowRecording | None
    tokens: int
    budget: WindowBudget
    total: int
    dropped: int
    items: tuple[WindowItem, ...]
    shown: Ranges
    recalled: Ranges
    summaries: tuple[str, ...]
    hidden: tuple[HiddenEntries, ...]
    hidden_total: int
    not_known: tuple[WindowNotKnown, ...] = ()
    not_known_total: int = 0


async def get_window(
    handle: NamespaceHandle,
    session_id: str,
    *,
    offset: int = 0,
    limit: int = 500,
    query: str | None = None,
    **when: Unpack[When],
) -> ShownWindow:
    """Return what the model is shown, item by item, with what is hidden and why.

    If a context of just this version was recorded, among the 100 contexts recorded next, it is the newest of them,
    rendered again. With *query* it is what would be shown for that search.

    Raises:
        SessionNotFound, VersionNotFound, InvalidInput: as `get_state` does.
    """
    check_integer(offset, field="offset", code="bad_offset", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_ITEMS)
    state = await existing_state(handle, session_id, **when)
    stream = handle.stream(session_id, when.get("user_id"))
    context, recording = await shown_at(handle, stream, state, query)
    changed = await handle.services.store.events.find_newest(stream, ConfigChanged.type, until=state.version)
    found = window_items(context, state, offset=offset, limit=limit)
    return replace(
        found,
        config_version=max(state.life, changed),
        recorded=recording,
        not_known=await _not_known(handle, stream, state),
        not_known_total=state.counts.window_not_known,
    )


async def _not_known(handle: NamespaceHandle, stream: Stream, state: SessionState) -> tuple[WindowNotKnown, ...]:
    """Return the newest reasons why the window of *state* may not be what an agent sent. Source: adapters IN-16."""
    if not state.counts.not_known_at:
        return ()
    wanted = ranges.ranges_of(state.counts.not_known_at)
    stored = await handle.services.store.events.read_versions(stream, wanted)
    found: list[WindowNotKnown] = []
    for event in map(decode, stored):
        note = (event.payload.metadata or {}).get(NOTE) if isinstance(event.payload, EntryAdded) else None
        if note is not None:
            found.append(WindowNotKnown(version=event.version, text=str(note["text"]), line=note.get("line")))
    return tuple(found)


def window_items(context: Context, state: SessionState, *, offset: int = 0, limit: int = 500) -> ShownWindow:
    """Return a page of what *context* shows of *state*, item by item; a what-if has no version of its config."""
    items, window = _items(context), context.window
    shown, recalled = sorted(entry.version for entry in window.entries), sorted(dict(window.recalled))
    away = ranges.ranges_of(sorted(set(state.window.entries.versions).difference(shown)))
    return ShownWindow(
        version=context.version,
        config_version=None,
        strategy=state.config.window.type,
        turn=turn_of(state),
        recorded=None,
        tokens=context.tokens,
        budget=WindowBudget(**asdict(context.budget), limit_from=limit_path(context.config)),
        total=len(items),
        dropped=window.dropped,
        items=tuple(items[offset : offset + limit]),
        shown=ranges.ranges_of(shown),
        recalled=ranges.ranges_of(recalled),
        summaries=tuple(summary.summary_id for summary in window.summaries),
        hidden=(HiddenEntries(versions=away),) if away else (),
        hidden_total=ranges.size(away),
    )


async def shown_at(
    handle: NamespaceHandle, stream: Stream, state: SessionState, query: str | None = None
) -> tuple[Context, WindowRecording | None]:
    """Return what the model is shown of *state*: what was recorded, if that is among the next recorded contexts."""
    event = await _recorded(handle, stream, state.version) if query is None else None
    if event is None or not isinstance(payload := event.payload, ContextRendered):
        return await context_of_state(handle, stream, state, query, looks_back=True), None
    context = await shown_again(handle, stream, payload)
    verdict: Literal["proved", "differs"] = "proved" if is_proved(context, payload) else "differs"
    recording = WindowRecording(
        version=event.version, recorded_at=event.recorded_at, actor=event.actor, verdict=verdict
    )
    return context, recording


async def _recorded(handle: NamespaceHandle, stream: Stream, version: int) -> RecordedEvent | None:
    """Return the newest of the next recorded contexts that was rendered at just this *version*."""
    events = handle.services.store.events
    found = await events.find_types(stream, [ContextRendered.type], after=version, limit=_CONTEXTS)
    stored = await events.read_versions(stream, ranges.ranges_of(found)) if found else []
    for event in map(decode, reversed(stored)):
        if isinstance(event.payload, ContextRendered) and event.payload.rendered_version == version:
            return event
    return None


def _items(context: Context) -> list[WindowItem]:
    window, preserved = context.window, context.config.preserved
    recalled, gaps = dict(window.recalled), window.gaps
    items: list[WindowItem] = []
    for item in window.items:
        if isinstance(item, Summary):
            items.append(_summary(item))
        else:
            source = part_of(item, recalled, context.current_turn, preserved)
            items.append(_entry(item, source, gap=item.version in gaps, score=recalled.get(item.version)))
    after = max((at for at, item in enumerate(items, 1) if item.kind == "summary"), default=0)
    knowledge = [
        WindowItem(
            kind="knowledge",
            id=f"{piece.source.session_id}@{piece.source.version}",
            version=piece.source.version,
            tokens=None,
            source="knowledge",
            text=piece.text[:_TEXT],
            length=len(piece.text),
        )
        for piece in window.knowledge
    ]
    return [*items[:after], *knowledge, *items[after:]]


def _summary(summary: Summary) -> WindowItem:
    return WindowItem(
        kind="summary",
        id=summary.summary_id,
        version=summary.version,
        tokens=summary.tokens,
        source="summary",
        text=summary.text[:_TEXT],
        length=len(summary.text),
        covered=summary.covered,
    )


def _entry(entry: Entry, source: EntryPart, *, gap: bool, score: float | None) -> WindowItem:
    return WindowItem(
        kind="entry",
        id=entry.entry_id,
        version=entry.version,
        tokens=entry.tokens,
        source=source,
        text=entry.content[:_TEXT],
        length=len(entry.content),
        role=entry.role,
        entry_kind=entry.kind,
        tool_name=entry.tool_name,
        gap=gap,
        score=score,
    )


def turn_of(state: SessionState) -> int | None:
    """Return the number of the newest interaction since the last clear; None before the first."""
    return end_of_batch(state).items.interactions.started or None
