"""Read the log as it is stored, with its proofs; read one entry; verify all of it."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from ledger.application.auditing.entry_causes import fate_of
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state, get_state
from ledger.errors import LogRolledBack, SessionNotFound
from ledger.events import RecordedEvent
from ledger.events.codec import decode
from ledger.events.names import check_actor, check_entry_id
from ledger.events.strict_json import check_integer
from ledger.history.log_page import LogPage, read_log
from ledger.history.log_reads import EntryRecord, LoggedEvent, read_entry, read_feed
from ledger.history.read_ahead import stream_pages
from ledger.results import When
from ledger.session.evolve import SESSION, end_of_batch
from ledger.verification import VerifyReport, verify_namespace, verify_session
from projections.values import ranges

MOST_EVENTS = 1_000  # trust N-6


async def get_events(
    handle: NamespaceHandle,
    session_id: str,
    *,
    after_version: int = 0,
    limit: int | None = None,
    type: str | None = None,
    user_id: str | None = None,
) -> list[RecordedEvent]:
    """Return the session's events after a version, oldest first; of one *type*, if given.

    Raises:
        InvalidInput: ``bad_version`` or ``bad_limit``.
    """
    check_integer(after_version, field="after_version", code="bad_version", least=0)
    if limit is not None:
        check_integer(limit, field="limit", code="bad_limit", least=1)
    stream, events = handle.stream(session_id, user_id), handle.services.store.events
    if type is None:
        stored = await events.read_stream(stream, after=after_version, limit=limit)
    else:
        found = await events.find_types(stream, [type], after=after_version, limit=limit)
        stored = await events.read_versions(stream, ranges.ranges_of(found))
    return [decode(event) for event in stored]


async def get_entry(
    handle: NamespaceHandle,
    session_id: str,
    entry_id: str,
    *,
    version: int | None = None,
    user_id: str | None = None,
) -> EntryRecord:
    """Return an entry as it is now, what became of it, and everything recorded about it.

    With *version* it is as it was then, with its fate: why it is, or is not, in the window. An entry that was added
    later is ``not_yet``.

    Raises:
        SessionNotFound: the session has no events.
        VersionNotFound: it has no such version.
        EntryNotFound: it never had such an entry.
    """
    check_entry_id(entry_id, field="entry_id")
    when: When = {"user_id": user_id} if version is None else {"user_id": user_id, "version": version}
    state = await existing_state(handle, session_id, **when)
    stream = handle.stream(session_id, user_id)
    record = await read_entry(handle.services.store, stream, state, entry_id, until=version)
    return record if version is None else replace(record, fate=await fate_of(handle, stream, state, record))


async def get_log(
    handle: NamespaceHandle,
    session_id: str,
    *,
    after_version: int = 0,
    before_version: int | None = None,
    limit: int = 100,
    type: str | Sequence[str] | None = None,
    actor: str | None = None,
    user_id: str | None = None,
) -> LogPage:
    """Return the session's events after a version, oldest first, with their hashes.

    With *before_version* those before it, newest first. Only events of a *type*, or of one of several, and only those
    of an *actor*, if given. A page with fewer than *limit* is the last.

    Raises:
        SessionNotFound: the session has no events.
        InvalidInput: ``bad_version``, ``bad_limit`` or ``bad_id``.
    """
    check_integer(after_version, field="after_version", code="bad_version", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_EVENTS)
    if before_version is not None:
        check_integer(before_version, field="before_version", code="bad_version", least=1)
    types = [type] if isinstance(type, str) else type
    for each in types or ():
        check_entry_id(each, field="type")
    if actor is not None:
        check_actor(actor, field="actor")
    return await read_log(
        handle.services.store,
        handle.stream(session_id, user_id),
        after=after_version,
        before=before_version,
        limit=limit,
        types=types,
        actor=actor,
    )


async def get_feed(
    handle: NamespaceHandle, *, after: int = 0, after_hash: str | None = None, limit: int = 100
) -> list[LoggedEvent]:
    """Return the events of the whole namespace after position *after*, in position order, without gaps.

    A subscriber gives as *after_hash* the hash of the last event that it has, so that it learns of a restored log.

    Raises:
        LogRolledBack: the event at *after* is gone, or another one.
        InvalidInput: ``bad_position`` or ``bad_limit``.
    """
    handle.services.check_open()
    check_integer(after, field="after", code="bad_position", least=0)
    check_integer(limit, field="limit", code="bad_limit", least=1, most=MOST_EVENTS)
    read = partial(read_feed, handle.services.store, handle.namespace_id, handle.namespace)
    if after and after_hash is not None:
        last = await read(after=after - 1, limit=1)
        if not last or last[0].hash != after_hash:
            raise LogRolledBack
    return await read(after=after, limit=limit)


async def matches_replay(handle: NamespaceHandle, session_id: str, *, user_id: str | None = None) -> bool:
    """Return whether reads return what a replay from the first event gives.

    Raises:
        SessionNotFound: the session has no events.
    """
    state = await get_state(handle, session_id, user_id=user_id)
    replayed = SESSION.initial
    async for page in stream_pages(handle.services.store, handle.stream(session_id, user_id), until=state.version):
        replayed = SESSION.fold(map(decode, page), replayed)
    return end_of_batch(replayed) == state


async def verify(
    handle: NamespaceHandle,
    session_id: str | None = None,
    *,
    user_id: str | None = None,
    caches: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Verify a session, or the whole namespace: recompute every hash and place.

    With *caches*, also compare what is stored beside the log (snapshots, the session index, search, jobs, records)
    with a replay, which takes longer. *progress* gets (events checked, all).

    Raises:
        SessionNotFound: the session has no events. If only its head is missing, the report says so instead.
    """
    handle.services.check_open()
    if session_id is None:
        return await verify_namespace(handle.services.store, handle.namespace, caches=caches, progress=progress)
    stream = handle.stream(session_id, user_id)
    report = await verify_session(handle.services.store, stream, caches=caches, progress=progress)
    if report.ok and not report.checked:
        raise SessionNotFound(session_id)
    return report
