"""What a model was shown each time it was asked: the recorded contexts, and the windows where none was recorded."""

import asyncio
from functools import partial
from typing import Final

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.contexts import context_of_state
from ledger.application.reading.window_views import turn_of
from ledger.errors import SessionNotFound
from ledger.events import ContextRendered, EntryAdded, Ranges
from ledger.events.chain import check_versions
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.events.strict_json import check_integer
from ledger.session.evolve import SESSION
from ledger.session.state import SessionState
from projections.token_limits import hidden
from projections.values import ranges

MOST_CALLS: Final = 1_000
_CHUNK: Final = 500  # events read at once
_PAGE_S: Final = 5.0  # a page ends after so long


class ModelCall(msgspec.Struct, frozen=True, kw_only=True):
    """What a model was shown when it was asked, as ranges; without a recorded context, what it would have been."""

    version: int
    turn: int | None
    recorded: bool
    tokens: int
    limit: int | None
    shown: Ranges
    summaries: tuple[str, ...]
    hidden: int
    strategy: str


class ModelCallPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of model calls, oldest first; *next_after* is None at the end."""

    calls: tuple[ModelCall, ...]
    next_after: int | None


async def model_calls(
    handle: NamespaceHandle, session_id: str, *, after: int = 0, limit: int = 200, user_id: str | None = None
) -> ModelCallPage:
    """Return what the model was shown at each call after version *after*.

    A call is each recorded context, and each answer to a user or a tool for which none was recorded: then it is what
    would have been shown at the version before the answer. A page ends early if it takes seconds.

    Raises:
        SessionNotFound, VersionNotFound: there is no such session, or no version *after*.
        InvalidInput: ``bad_version`` or ``bad_limit``.
    """
    check_integer(after, field="after", code="bad_version", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_CALLS)
    stream, services = handle.stream(session_id, user_id), handle.services
    newest, _ = await services.store.events.head(stream)
    if not newest:
        raise SessionNotFound(session_id)
    state = await services.states.past(stream, version=after) if after else SESSION.initial
    asked = await _is_asked(handle, stream, state) if after else False
    calls: list[ModelCall] = []
    ends = asyncio.get_running_loop().time() + _PAGE_S
    while state.version < newest:
        stored = await services.store.events.read_stream(stream, after=state.version, until=newest, limit=_CHUNK)
        check_versions(stored, after=state.version)
        if not stored:
            break
        for event in map(decode, stored):
            payload, before = event.payload, state
            call = None
            if isinstance(payload, ContextRendered):
                asked, call = False, await _recorded_call(handle, stream, before, payload)
            elif isinstance(payload, EntryAdded):
                if not _answers(payload):
                    asked = True
                elif asked:
                    asked, call = False, await _call(handle, stream, before)
            state = await services.states.view(stream, before, partial(SESSION.evolve, before, event))
            calls += [call] if call else []
            if call and state.version < newest and (len(calls) == limit or asyncio.get_running_loop().time() > ends):
                return ModelCallPage(calls=tuple(calls), next_after=state.version)
    return ModelCallPage(calls=tuple(calls), next_after=None)


def _answers(entry: EntryAdded) -> bool:
    """Tell whether a model wrote *entry*."""
    return entry.kind in {"tool_call", "step_result"} or (entry.kind == "message" and entry.role == "assistant")


async def _is_asked(handle: NamespaceHandle, stream: Stream, state: SessionState) -> bool:
    """Tell whether something waits for an answer of the model as of *state*, with no context recorded for it."""
    last, events = state.window.entries.last_version or 0, handle.services.store.events
    recorded = await events.find_newest(stream, ContextRendered.type, until=state.version)
    found = await events.read_versions(stream, ranges.ranges_of(sorted({last, recorded} - {0})))
    asked = False
    for payload in (decode(event).payload for event in found):
        if isinstance(payload, EntryAdded):
            asked = not _answers(payload)
        elif isinstance(payload, ContextRendered) and payload.rendered_version >= last:
            asked = False
    return asked


async def _recorded_call(
    handle: NamespaceHandle, stream: Stream, state: SessionState, event: ContextRendered
) -> ModelCall:
    if state.version != event.rendered_version:
        state = await handle.services.states.past(stream, version=event.rendered_version)
    runs = tuple(item for item in event.items if not isinstance(item, str))
    shown, active = ranges.union([runs]), state.window.entries
    return ModelCall(
        version=event.rendered_version,
        turn=await handle.services.states.view(stream, state, lambda: turn_of(state)),
        recorded=True,
        tokens=event.tokens,
        limit=state.config.token_limit,
        shown=shown,
        summaries=tuple(item for item in event.items if isinstance(item, str)),
        hidden=len(active) - sum(map(active.has, ranges.versions(shown))),
        strategy=event.strategy,
    )


async def _call(handle: NamespaceHandle, stream: Stream, state: SessionState) -> ModelCall:
    context = await context_of_state(handle, stream, state, looks_back=True, with_turn=False)
    return ModelCall(
        version=state.version,
        turn=await handle.services.states.view(stream, state, lambda: turn_of(state)),
        recorded=False,
        tokens=context.tokens,
        limit=state.config.token_limit,
        shown=ranges.ranges_of(sorted(entry.version for entry in context.entries)),
        summaries=tuple(summary.summary_id for summary in context.summaries),
        hidden=hidden(context.window, state.window.entries),
        strategy=state.config.window.type,
    )
