"""Render what a model is shown, record it on request, and render it again later."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Unpack

from msgspec.structs import replace

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.context_audit import rendered
from ledger.application.reading.context_audit import shown_again as shown_again_from
from ledger.application.reading.session_reads import partial_state
from ledger.errors import SessionNotFound
from ledger.events import ContextRendered, Ranges
from ledger.events.ids import Stream
from ledger.history.entry_reads import read_entries
from ledger.results import Context, RecordedContext, Rendering, When
from ledger.session.commands import Command, RecordContext
from ledger.session.entry_drafts import check_time
from ledger.session.evolve import end_of_batch
from ledger.session.state import SessionState
from ledger.session.views import current_turn
from projections.entries import Entry
from projections.values import ranges
from projections.window import Window


async def get_context(handle: NamespaceHandle, session_id: str, **how: Unpack[Rendering]) -> Context:
    """Return what the model is shown, as a structure; empty for an unknown session.

    With *record*, an event records what is returned, and `seen` proves it later. With an *idempotency_key* too, a
    retry returns what the first attempt returned.

    Raises:
        SessionNotFound: there is nothing to record.
        IdempotencyMismatch: the key belongs to another request.
    """
    return await _context(handle, session_id, how, with_turn=True)


async def _context(handle: NamespaceHandle, session_id: str, how: Rendering, *, with_turn: bool) -> Context:
    when: When = {name: how[name] for name in ("version", "at", "user_id") if name in how}  # type: ignore[assignment]  # a part of it
    stream = handle.stream(session_id, how.get("user_id"))
    state = await partial_state(handle, session_id, when)
    looks_back = how.get("version") is not None or how.get("at") is not None
    query = how.get("query")
    context = await context_of_state(handle, stream, state, query, looks_back=looks_back, with_turn=with_turn)
    if not how.get("record"):
        return context
    if not state.version:
        raise SessionNotFound(session_id)
    return await _record(handle, stream, context, how)


async def get_context_for_llm(handle: NamespaceHandle, session_id: str, **how: Unpack[Rendering]) -> str:
    """Return what the model is shown, as text; empty for an unknown session.

    It records, and raises, as `get_context` does.
    """
    return (await _context(handle, session_id, how, with_turn=False)).text


async def context_of_state(
    handle: NamespaceHandle,
    stream: Stream,
    state: SessionState,
    query: str | None = None,
    *,
    looks_back: bool,
    with_turn: bool = True,
) -> Context:
    """Return what the model is shown of *state*; *looks_back* if that may not be the newest state.

    Without *with_turn* its budget has no current turn.
    """

    async def window() -> tuple[Window, frozenset[int]]:
        found = await handle.indexes.finder.window(stream, state, query, looks_back=looks_back)
        return found, current_turn(state) if with_turn else frozenset()

    shown, turn = await handle.services.states.reading(stream, state, window)
    return Context(stream.session_id, state.version, shown, state.config, turn)


async def shown_again(handle: NamespaceHandle, stream: Stream, event: ContextRendered) -> Context:
    """Return the context that *event* recorded. Of the log it reads only entries that a search brought back.

    Raises:
        SessionNotFound, VersionNotFound: there is no such version.
    """
    version, store, states = event.rendered_version, handle.services.store, handle.services.states
    past = await states.past(stream, version=version)
    runs = tuple(item for item in event.items if not isinstance(item, str))

    def read() -> tuple[SessionState, tuple[Entry, ...], frozenset[int]]:
        return end_of_batch(past), past.window.within(runs), current_turn(past)

    state, active, turn = await states.view(stream, past, read)
    entries = {entry.version: entry for entry in active}
    recalled = _gaps(runs, sorted(entries), version)
    entries |= await read_entries(store, stream, recalled, until=version) if recalled else {}
    knowledge = await handle.indexes.finder.knowledge(event.knowledge)
    return replace(shown_again_from(event, stream.session_id, state, entries, knowledge), current_turn=turn)


def _gaps(runs: Ranges, known: Sequence[int], until: int) -> Ranges:
    """Return the versions of *runs* up to *until* that are not *known*, ascending versions."""
    gaps: list[tuple[int, int]] = []
    for first, last in runs:
        start, end = first, min(last, until)
        for version in known[bisect_left(known, first) : bisect_right(known, end)]:
            gaps += [(start, version - 1)] if start < version else []
            start = version + 1
        gaps += [(start, end)] if start <= end else []
    return ranges.union([tuple(gaps)])


async def _record(handle: NamespaceHandle, stream: Stream, context: Context, how: Rendering) -> Context:
    """Record *context* at the next version, whichever that is; return it with its receipt.

    A retry with the same key returns what the first attempt recorded, even if the session has changed since.
    """
    event = rendered(context, handle.services.clock.ulid())

    async def commands_for(state: SessionState) -> list[Command]:
        return [RecordContext(event)]

    key = how.get("idempotency_key")
    idempotency = None
    if key is not None:
        at = check_time(how.get("at"), "at")
        asked = [how.get("version"), at and at.isoformat(), how.get("query")]
        idempotency = handle.idempotency(stream, "get_context", asked, key)
    written = await handle.write(stream, commands_for, commutes=True, idempotency=idempotency)
    first, receipt = written.events[0].payload, written.receipts[0]
    if written.replayed and isinstance(first, ContextRendered):
        context = await shown_again(handle, stream, first)
    recorded = RecordedContext(
        version=receipt.version,
        position=receipt.position,
        event_id=str(receipt.event_id),
        hash=receipt.hash.hex(),
        replayed=written.replayed,
    )
    return replace(context, recorded=recorded)
