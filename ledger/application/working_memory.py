"""Working memory as its clients write it: a whole body, of which only the difference becomes events."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.restoring import count, opened_event, remembered_items
from ledger.errors import PreconditionFailed
from ledger.events import EntryAdded, EntryEdited, EntryRemoved, to_datetime
from ledger.ids import Stream
from ledger.results import Precondition, Put
from ledger.session.commands import Command
from ledger.session.put import Body, Marked, PutSession, Remembered, Seen, ServedView, Strict, Unmarked
from ledger.session.state import SessionState, at_rest
from projections.config import MemoryConfig
from projections.strategies.progressive import Progressive

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
    idempotency_key: str | None = None,
    user_id: str | None = None,
) -> Put:
    """Bring the session to what *body* says, as far as its writer is known to have seen what it changes.

    A new session begins under *config*; *context_window* and *model_name* set the limit of its compaction. With
    *compact* false none is started; otherwise it is, and not waited for.

    Raises:
        PreconditionFailed: the session is not what *when* says.
        IdempotencyMismatch: the key belongs to another body.
        Unavailable: other writers kept coming first, or the database is away.
    """
    stream = handle.stream(session_id, user_id)

    async def commands_for(state: SessionState) -> Sequence[Command]:
        return [await _put(handle, stream, state, body, when, last_accessed, config, (context_window, model_name))]

    idempotency = None
    if idempotency_key is not None:
        request = [_plain(body), last_accessed]
        idempotency = handle.idempotency(stream, "put_working_memory", request, idempotency_key)
    written = await handle.write(stream, commands_for, idempotency=idempotency)
    if written.replayed:
        state = await handle.services.states.at(stream, version=written.receipts[-1].version)
        return Put(state=at_rest(state), replayed=True)
    said = any(isinstance(event.payload, EntryAdded | EntryEdited | EntryRemoved) for event in written.events)
    if said and compact:
        await handle.services.compactor.evaluate(stream, written.state, actor=handle.actor)
    return Put(state=at_rest(written.state), changed=bool(written.events))


async def note_view(handle: NamespaceHandle, session_id: str, view: ServedView, *, user_id: str | None = None) -> None:
    """Remember that *view* was served, so that who writes it back withdraws nothing it left out (http W-55)."""
    await handle.services.store.served_views.save(
        handle.stream(session_id, user_id), view, now=handle.services.clock.now()
    )


async def current_state(handle: NamespaceHandle, session_id: str, *, user_id: str | None = None) -> SessionState:
    """Return the session's state as of now; version 0 if it has no events."""
    return at_rest(await handle.services.states.current(handle.stream(session_id, user_id)))


async def listed(handle: NamespaceHandle) -> int:
    """Return the build of the session index to list from, as of the namespace's newest event."""
    return await handle.indexes.sessions.build()


async def carries_proof(
    handle: NamespaceHandle, session_id: str, body: Body, last_accessed: datetime | None, *, user_id: str | None = None
) -> bool:
    """Tell whether *body* carries a stamp of this session or the id of one of its items (http W-14)."""
    stream = handle.stream(session_id, user_id)
    state = await handle.services.states.current(stream)
    if await _seen_then(handle, stream, state, last_accessed) is not None:
        return True
    ids = [one.id for one in body.messages if one.id is not None]
    ids += [one.id for one in body.memories if one.id is not None]
    return bool(ids and await handle.services.store.events.find_items(stream, ids))


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
    seen = await _seen(handle, stream, state, when, last_accessed, live=live)
    if expired and fresh:
        seen = Unmarked()  # another life, holding exactly the body (http W-60)
    base = config if fresh else state.config
    write_id = handle.services.clock.ulid()
    return PutSession(
        write_id=write_id,
        body=body,
        seen=seen,
        count=partial(count, base.tokenizer),
        new_id=handle.services.clock.ulid,
        remembered=Remembered() if expired and fresh else await remembered_items(handle, stream, state, body),
        views=tuple(await _views(handle, stream, state, body)) if live or resumes else (),
        opening=opened_event(stream, config, write_id) if fresh else None,
        restoring=resumes,
        config=with_limit(base, *limit),
    )


async def _seen(
    handle: NamespaceHandle,
    stream: Stream,
    state: SessionState,
    when: Precondition,
    last_accessed: datetime | None,
    *,
    live: bool,
) -> Seen:
    if when.absent and live:
        raise PreconditionFailed(f"the session is at version {state.version}; read it again")
    if when.strict:
        if not live:
            raise PreconditionFailed("there is no live session; send it without If-Match to begin one")
        if when.version is not None and when.version != state.version:
            raise PreconditionFailed(f"the session is at version {state.version}; read it again")
        return Strict(await _left_out(handle, stream, state, when))
    then = await _seen_then(handle, stream, state, last_accessed)
    return Unmarked() if then is None else Marked(then)


async def _left_out(
    handle: NamespaceHandle, stream: Stream, state: SessionState, when: Precondition
) -> tuple[tuple[int, int], ...]:
    if when.view is None:
        return ()
    for view in await handle.services.store.served_views.load(stream, now=handle.services.clock.now()):
        if view.key == when.view:
            return view.left_out
    raise PreconditionFailed(f"the session is at version {state.version}; read it again")


async def _seen_then(
    handle: NamespaceHandle, stream: Stream, state: SessionState, last_accessed: datetime | None
) -> SessionState | None:
    """Return the state whose stamp *last_accessed* is: what the writer saw (http W-7, W-52)."""
    if last_accessed is None or not state.version:
        return None
    if stamp_of(state) == last_accessed:
        return at_rest(state)
    for version in range(last_accessed.microsecond or _STAMPS, state.version, _STAMPS):
        then = await handle.services.states.at(stream, version=version)
        if stamp_of(then) == last_accessed:
            return at_rest(then)
    return None


async def _views(handle: NamespaceHandle, stream: Stream, state: SessionState, body: Body) -> list[ServedView]:
    listed = {one.id for one in body.messages}
    if all(entry.entry_id in listed for entry in state.window.entries):
        return []  # nothing is omitted
    return await handle.services.store.served_views.load(stream, now=handle.services.clock.now())


def stamp_of(state: SessionState) -> datetime:
    """Return the session's ``last_accessed``: the second of its last write, and its version as microseconds.

    So it proves what a writer saw. Source: http W-7.
    """
    second = to_datetime(state.updated_us).replace(microsecond=0)
    return second + timedelta(microseconds=state.version % _STAMPS)


def with_limit(config: MemoryConfig, context_window: int | None, model_name: str | None) -> MemoryConfig:
    """Return *config* with the limit of its progressive compaction as a request names it (http W-39).

    Raises:
        pydantic.ValidationError: a config cannot have that limit.
    """
    limit = {"context_window": context_window, "model_name": model_name}
    compactions = tuple(
        Progressive.model_validate({**one.model_dump(exclude_unset=True), **limit})
        if isinstance(one, Progressive) and limit != {name: getattr(one, name) for name in limit}
        else one
        for one in config.compactions
    )
    return config.model_copy(update={"compactions": compactions})


def _plain(body: Body) -> object:
    """Return *body* as JSON that is the same for the same body: sets have no order."""
    plain = msgspec.to_builtins(body)
    for memory in plain["memories"]:
        memory["sent"] = sorted(memory["sent"])
    return plain
