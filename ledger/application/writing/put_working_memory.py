"""Write working memory: clients send a whole body, and only the differences become events."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import session_opened
from ledger.application.writing.restore import count
from ledger.errors import PreconditionFailed
from ledger.events import EntryAdded, EntryEdited, EntryRemoved, Ranges, to_datetime
from ledger.events.ids import Stream
from ledger.history.item_history import prior_items
from ledger.results import Precondition, PutResult
from ledger.session.commands import Command
from ledger.session.evolve import end_of_batch
from ledger.session.merge.put_command import Blind, Body, Evidence, IfMatch, PriorItems, PutSession, ThreeWay
from ledger.session.state import SessionState
from projections.memory_config.config import MemoryConfig
from projections.strategies.progressive import Progressive
from projections.working_memory import ServedView

ANY: Final = Precondition()
_STAMPS: Final = 1_000_000


async def put_working_memory(
    handle: NamespaceHandle,
    session_id: str,
    body: Body,
    *,
    config: MemoryConfig,
    when: Precondition = ANY,
    last_accessed: datetime | None = None,
    context_window: int | None = None,
    model_name: str | None = None,
    compact: bool = True,
    wait_s: float | None = None,
    idempotency_key: str | None = None,
    user_id: str | None = None,
    state: SessionState | None = None,
) -> PutResult:
    """Change the session to *body*, except for what its writer cannot have seen.

    Args:
        handle: The namespace and the actor.
        session_id: The session; if it is not live, it starts with *config*.
        body: All of its working memory.
        config: The memory config of a new session.
        when: The precondition on the session.
        last_accessed: The ``last_accessed`` of the version that the writer had read.
        context_window: The limit of the session's compaction, in tokens.
        model_name: The model whose window is that limit.
        compact: Whether a compaction may start. It runs in the background.
        wait_s: How many seconds to wait for compactions, so that the answer is the state after them.
        idempotency_key: A repeated request with this key gets the first answer.
        user_id: The user of the session.
        state: The session's state, if the caller has just read it; it is not read again then.

    Raises:
        PreconditionFailed: the session does not meet *when*.
        NotPermitted: the caller may not add or change messages of the system.
        IdempotencyMismatch: the key belongs to another body.
        Unavailable: other writers were always first, or the database could not be reached.
    """
    stream = handle.stream(session_id, user_id)

    async def commands_for(state: SessionState) -> Sequence[Command]:
        handle.rights.check_extraction(body.extraction, known=state.working.extraction)
        return [await _put(handle, stream, state, body, when, last_accessed, config, (context_window, model_name))]

    idempotency = None
    if idempotency_key is not None:
        request = [_plain(body), last_accessed]
        idempotency = handle.idempotency(stream, "put_working_memory", request, idempotency_key)
    states = handle.services.states
    written = await handle.write(stream, commands_for, idempotency=idempotency, state=state)
    if written.replayed:
        first = await states.at(stream, version=written.receipts[-1].version)
        return PutResult(state=end_of_batch(first), replayed=True)
    if compact and any(isinstance(event.payload, EntryAdded | EntryEdited | EntryRemoved) for event in written.events):
        await handle.services.compactor.evaluate(stream, written.state, actor=handle.actor)
    newest = written.state
    if written.events and wait_s is not None:
        with suppress(TimeoutError):  # the compaction continues in the background (http W-45)
            async with asyncio.timeout(wait_s):
                await handle.services.compactor.settle(stream)
                newest = await states.known(stream) or await states.newest(stream)
    return PutResult(state=end_of_batch(await states.whole(stream, newest)))


async def record_view(
    handle: NamespaceHandle, session_id: str, view: ServedView, *, user_id: str | None = None
) -> None:
    """Record that *view* was returned, so that writing it back removes nothing that it left out."""
    await handle.services.store.served_views.save(
        handle.stream(session_id, user_id), view, now=handle.services.clock.now()
    )


async def require_version(handle: NamespaceHandle, stream: Stream, state: SessionState, when: Precondition) -> None:
    """Refuse to write unless *state* is at the version of *when*, with the same event there.

    Raises:
        PreconditionFailed: it is not; after a restore from a backup the version may be the same and the event another.
    """
    if when.version != state.version:
        raise PreconditionFailed(f"the session is at version {state.version}; read it again")
    digest = await handle.services.states.digest(stream, state.version)
    if not digest.hex().startswith(when.event):
        raise PreconditionFailed("the log went back, and the session has another history now; read it again")


async def current_state(handle: NamespaceHandle, session_id: str, *, user_id: str | None = None) -> SessionState:
    """Return the session's current state without content; version 0 if it has no events."""
    stream, states = handle.stream(session_id, user_id), handle.services.states
    state = await states.newest(stream)
    return await states.view(stream, state, lambda: end_of_batch(state))


async def knows_session(
    handle: NamespaceHandle,
    session_id: str,
    body: Body,
    last_accessed: datetime | None,
    *,
    state: SessionState,
    user_id: str | None = None,
) -> bool:
    """Tell whether *last_accessed* is a stamp of this session, or *body* has the id of one of its items."""
    # http W-14
    stream = handle.stream(session_id, user_id)
    if await _stamped(handle, stream, state, last_accessed) is not None:
        return True
    return bool(body.ids and await handle.services.store.events.find_items(stream, body.ids))


async def _put(
    handle: NamespaceHandle,
    stream: Stream,
    state: SessionState,
    body: Body,
    when: Precondition,
    last_accessed: datetime | None,
    config: MemoryConfig,
    limit: tuple[int | None, str | None],
) -> PutSession:
    expired = state.has_expired(handle.services.clock.now())
    live = state.opened and not expired
    resumes = expired and handle.services.reconstruct
    fresh = not live and not resumes
    evidence = await _evidence(handle, stream, state, when, last_accessed, live=live)
    new_life = expired and fresh  # a new life that has exactly the body (http W-60)
    session_config = config if fresh else state.config
    write_id = handle.services.clock.ulid()
    return PutSession(
        write_id=write_id,
        body=body,
        evidence=Blind() if new_life else evidence,
        count=partial(count, session_config.tokenizer),
        new_ids=tuple(handle.services.clock.ulid() for _ in range(body.ids_needed)),
        prior=PriorItems() if new_life else await prior_items(handle.services.store, stream, state, body),
        views=() if fresh else await _views(handle, stream, state, body, evidence),
        opening=session_opened(stream, config, write_id) if fresh else None,
        restoring=resumes,
        config=with_limit(session_config, *limit),
        check_system=handle.rights.check_system,
    )


async def _evidence(
    handle: NamespaceHandle,
    stream: Stream,
    state: SessionState,
    when: Precondition,
    last_accessed: datetime | None,
    *,
    live: bool,
) -> Evidence:
    if when.absent and live:
        raise PreconditionFailed(f"the session is at version {state.version}; read it again")
    if when.strict:
        if not live:
            raise PreconditionFailed("there is no live session; send it without If-Match to start one")
        if when.version is not None:
            await require_version(handle, stream, state, when)
        return IfMatch(await _omitted(handle, stream, state, when))
    base = await _base(handle, stream, state, last_accessed)
    return Blind() if base is None else ThreeWay(base)


async def _omitted(handle: NamespaceHandle, stream: Stream, state: SessionState, when: Precondition) -> Ranges:
    """Return the versions that the view named by an ETag left out."""
    if when.view is None:
        return ()
    for view in await handle.services.store.served_views.load(stream, now=handle.services.clock.now()):
        if view.key == when.view:
            return view.omitted
    raise PreconditionFailed(f"the session is at version {state.version}; read it again")


async def _base(
    handle: NamespaceHandle, stream: Stream, state: SessionState, last_accessed: datetime | None
) -> SessionState | None:
    """Return the state with the stamp *last_accessed*: what the writer had read (http W-7, W-52)."""
    base = await _stamped(handle, stream, state, last_accessed)
    if base is None or base is state:
        return base and end_of_batch(base)
    return end_of_batch(await handle.services.states.whole(stream, base))


async def _stamped(
    handle: NamespaceHandle, stream: Stream, state: SessionState, last_accessed: datetime | None
) -> SessionState | None:
    """Return the state with the stamp *last_accessed*, without content."""
    if last_accessed is None or not state.version:
        return None
    if stamp_of(state) == last_accessed:
        return state
    for version in range(last_accessed.microsecond or _STAMPS, state.version, _STAMPS):
        base = await handle.services.states.past(stream, version=version)
        if stamp_of(base) == last_accessed:
            return base
    return None


async def _views(
    handle: NamespaceHandle, stream: Stream, state: SessionState, body: Body, evidence: Evidence
) -> tuple[ServedView, ...]:
    """Return the views that the body may be based on; none if it omits nothing, or replaces everything."""
    sent = {message.id for message in body.messages}
    if isinstance(evidence, IfMatch) or all(entry.entry_id in sent for entry in state.window.entries):
        return ()
    return tuple(await handle.services.store.served_views.load(stream, now=handle.services.clock.now()))


def stamp_of(state: SessionState) -> datetime:
    """Return the session's ``last_accessed``: the second of its last write, with its version as microseconds.

    A writer that sends it proves what it had read.
    """
    # http W-7
    second = to_datetime(state.updated_us).replace(microsecond=0)
    return second + timedelta(microseconds=state.version % _STAMPS)


def with_limit(config: MemoryConfig, context_window: int | None, model_name: str | None) -> MemoryConfig:
    """Return *config* with the limit of a request in its progressive compaction.

    Raises:
        pydantic.ValidationError: the limit is out of bounds.
    """
    limit = {"context_window": context_window, "model_name": model_name}
    compactions = tuple(
        Progressive.model_validate({**strategy.model_dump(exclude_unset=True), **limit})
        if isinstance(strategy, Progressive) and limit != {name: getattr(strategy, name) for name in limit}
        else strategy
        for strategy in config.compactions
    )
    return config.model_copy(update={"compactions": compactions})


def _plain(body: Body) -> object:
    """Return *body* as JSON with its sets sorted, so that equal bodies give equal JSON."""
    plain = msgspec.to_builtins(body)
    for memory in plain["memories"]:
        memory["sent"] = sorted(memory["sent"])
    return plain
