"""Forking: a session that goes on from a version of another one, both by themselves."""

from datetime import datetime

from ledger.application.handle import NamespaceHandle
from ledger.application.reading import get_state
from ledger.errors import SessionExists, VersionConflict
from ledger.events import ForkedFrom
from ledger.results import Forked
from ledger.session.commands import OpenSession
from ledger.session.drafts import check_time


async def fork(
    handle: NamespaceHandle,
    session_id: str,
    new_session_id: str,
    *,
    version: int | None = None,
    at: datetime | str | None = None,
    user_id: str | None = None,
    new_user_id: str | None = None,
    idempotency_key: str | None = None,
) -> Forked:
    """Begin a session as *session_id* is now, was at *version*, or at a moment; return where it goes on.

    It has the same user unless *new_user_id* names another (``""`` for none). What is being compacted is
    compacted in the parent only; a parent whose life has ended is forked as that left it, empty.

    Raises:
        SessionNotFound: there is no session to fork.
        VersionNotFound: it has no such version, or had no events at that moment.
        SessionExists: the new session has events.
        InvalidInput: as `get_state` does.
        IdempotencyMismatch: the key belongs to another request.
    """
    # http W-70, trust H-16
    parent = handle.stream(session_id, user_id)
    stream = handle.stream(new_session_id, user_id if new_user_id is None else new_user_id)
    moment = check_time(at, "at")
    asked = [parent.session_id, parent.user_id, version, moment and moment.isoformat()]
    idempotency = handle.idempotency(stream, "fork", asked, idempotency_key)
    state = await get_state(handle, session_id, version=version, at=at, user_id=user_id)
    origin = ForkedFrom(session_id=parent.session_id, version=state.version, user_id=parent.user_id)
    opening = OpenSession(
        write_id=handle.services.clock.ulid(),
        namespace=stream.namespace,
        user_id=stream.user_id,
        session_id=stream.session_id,
        config=state.config,
        forked_from=origin,
    )
    try:
        written = await handle.services.commands.fork(stream, opening, actor=handle.actor, idempotency=idempotency)
    except VersionConflict as fault:
        raise SessionExists(stream.session_id) from fault
    receipt = written.receipts[0]
    return Forked(
        session_id=stream.session_id,
        user_id=stream.user_id or None,
        forked_from=parent.session_id,
        at_version=receipt.version - 1,
        version=receipt.version,
        position=receipt.position,
        event_id=str(receipt.event_id),
        hash=receipt.hash.hex(),
        replayed=written.replayed,
    )
