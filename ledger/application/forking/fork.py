"""Fork a session: a new one shares its history up to a version, and both continue on their own."""

from datetime import datetime

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state
from ledger.errors import SessionExists, VersionConflict
from ledger.events import ForkedFrom
from ledger.results import Forked
from ledger.session.commands import OpenSession
from ledger.session.entry_drafts import check_time


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
    """Start a session from *session_id* as it is now, or was at *version* or *at* a moment.

    It has the same user unless *new_user_id* names another (``""`` for no user). A running compaction is recorded in
    the parent only. The fork of a session that has ended is empty.

    Raises:
        SessionNotFound: the session to fork has no events.
        VersionNotFound: it has no such version, or had no events at that moment.
        SessionExists: the new session has events.
        InvalidInput: as `get_state` does.
        IdempotencyMismatch: the key belongs to another request.
        NotPermitted: the caller of a service may not set the config of then.
    """
    # http W-70, trust H-16
    parent = handle.stream(session_id, user_id)
    stream = handle.stream(new_session_id, user_id if new_user_id is None else new_user_id)
    moment = check_time(at, "at")
    body = [parent.session_id, parent.user_id, version, moment and moment.isoformat()]
    idempotency = handle.idempotency(stream, "fork", body, idempotency_key)
    state = await existing_state(handle, session_id, version=version, at=at, user_id=user_id)
    if version is not None or at is not None:
        handle.rights.check_past(state, await handle.services.states.newest(parent))
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
