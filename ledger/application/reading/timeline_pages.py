"""A session as the viewer shows it: its timeline, read page by page."""

from typing import Final

from ledger.application.handle import NamespaceHandle
from ledger.errors import SessionNotFound
from ledger.events import ConfigChanged, RecordedEvent, SessionOpened
from ledger.events.codec import decode, decode_in_order
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.session.evolve import SESSION, end_of_batch
from ledger.session.state import SessionState
from projections.log.entry_fates import Timeline, TimelinePage
from projections.memory_config import config
from projections.strategies import COMPACTIONS

TIMELINE_EVENTS: Final = 20_000
_CHUNK: Final = 1_000  # events read at once


async def timeline(
    handle: NamespaceHandle,
    session_id: str,
    *,
    after: int = 0,
    limit: int = TIMELINE_EVENTS,
    user_id: str | None = None,
) -> Timeline:
    """Return what *limit* events after version *after* did to entries, summaries and config, as columns.

    It reads these events alone. Only if summaries may be dropped (of `rolling_blocks`, or by a new config), it also
    loads the state at *after*. A reader applies pages in order; one that has a session reads its newest events only.

    Raises:
        SessionNotFound: the session has no events.
        UnknownEvent, UnknownConfig: a newer release wrote it.
        InvalidInput: ``bad_version`` or ``bad_limit``.
    """
    check_integer(after, field="after", code="bad_version", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=TIMELINE_EVENTS)
    stream, store = handle.stream(session_id, user_id), handle.services.store
    newest, _ = await store.events.head(stream)
    if not newest:
        raise SessionNotFound(session_id)
    page, until = TimelinePage(after, newest), min(newest, after + limit)
    drops = await _may_drop(handle, stream, after) if after < newest else False
    state: SessionState | None = None
    while page.page.version < until:
        at = page.page.version
        stored = await store.events.read_stream(stream, after=at, until=until, limit=_CHUNK)
        if not stored:
            break
        events = decode_in_order(stored, after=at)
        drops = drops or any(_decides_drops(event) for event in events)
        if drops and state is None:
            state = await handle.services.states.past(stream, version=at) if at else SESSION.initial
        if state is not None:
            state = await _evict(handle, stream, state, events, page)
        else:
            for event in events:
                page.add(event)
    return page.page


async def _may_drop(handle: NamespaceHandle, stream: Stream, at: int) -> bool:
    """Tell whether the config in force at version *at* drops summaries as the session goes on."""
    if not at:
        return False
    store = handle.services.store
    types = (ConfigChanged.type, SessionOpened.type)
    version = max([await store.events.find_newest(stream, name, until=at) for name in types])
    found = await store.events.read_versions(stream, ((version, version),)) if version else []
    return any(_has_progress(decode(event)) for event in found)


def _decides_drops(event: RecordedEvent) -> bool:
    return isinstance(event.payload, ConfigChanged) or _has_progress(event)


def _has_progress(event: RecordedEvent) -> bool:
    if not isinstance(event.payload, ConfigChanged | SessionOpened):
        return False
    found = config.recorded(event.payload.config, version=event.version)
    return any(COMPACTIONS[each.type].progress is not None for each in found.compactions)


async def _evict(
    handle: NamespaceHandle, stream: Stream, state: SessionState, events: list[RecordedEvent], page: TimelinePage
) -> SessionState:
    """Add *events* to *page*, each with the summaries that the state drops there; return the state after them."""

    def fold() -> tuple[SessionState, dict[int, list[str]]]:
        now, live, dropped = state, _live(state), {}
        for event in events:
            now = SESSION.evolve(now, event)
            after = _live(now)
            dropped[event.version] = [name for name in live if name not in after]
            live = after
        return now, dropped

    after, dropped = await handle.services.states.view(stream, state, fold)
    for event in events:
        place = len(page.page.ended)
        page.add(event)
        ended = page.page.ended[place:]
        if any(each.summary_id is None for each in ended):
            continue
        for name in dropped[event.version]:
            if all(each.summary_id != name for each in ended):
                page.evict(event.version, name)
    return after


def _live(state: SessionState) -> tuple[str, ...]:
    if any(summary.block is not None for summary in state.summaries.live):
        state = end_of_batch(state)
    return tuple(summary.summary_id for summary in state.summaries.live)
