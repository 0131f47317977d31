"""Ending what a session shows: clearing it, now or when its time is over."""

from collections.abc import Sequence
from typing import Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import resuming_commands, starts_life
from ledger.events import SessionCleared
from ledger.results import Guard, Version
from ledger.session.commands import ClearSession, Command, SetExpiry
from ledger.session.state import SessionState
from ledger.strict_json import check_flag, check_integer

MOST_SECONDS = 10**9


async def clear_session(
    handle: NamespaceHandle,
    session_id: str,
    *,
    end: bool = False,
    **guard: Unpack[Guard],
) -> Version:
    """Empty window and summaries and return the session's version; history and config stay.

    With *end* the life of the session ends; an entry added later begins a new one. An unknown or empty
    session is left as it is.
    """
    check_flag(end, field="end")

    async def commands_for(state: SessionState) -> Sequence[Command]:
        if starts_life(handle, state) and state.opened and not end:
            return []  # it has expired, and nothing of it is shown
        return [*resuming_commands(handle, state), ClearSession(handle.services.clock.ulid(), end)]

    written = await handle.change(
        handle.stream(session_id, guard.get("user_id")),
        commands_for,
        "clear_session",
        {"end": end},
        guard,
    )
    if not written.replayed and any(isinstance(event.payload, SessionCleared) for event in written.events):
        handle.services.notifications.notify(handle.namespace, "session:cleared", session_id)
    return Version(written.version, replayed=written.replayed)


async def set_expiry(
    handle: NamespaceHandle, session_id: str, ttl_seconds: int | None, **guard: Unpack[Guard]
) -> Version:
    """Let the session expire *ttl_seconds* after its last write, or never, and return its version.

    Expiry follows from the clock: nothing is deleted, and reading still shows the history.

    Raises:
        InvalidInput: it is not 1 to 1,000,000,000.
        SessionNotFound: the session has no events.
        VersionConflict: the session is not at *expected_version*.
    """
    # http W-20
    if ttl_seconds is not None:
        check_integer(ttl_seconds, field="ttl_seconds", least=1, most=MOST_SECONDS)
    stream = await handle.existing(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        return [SetExpiry(handle.services.clock.ulid(), ttl_seconds)]

    written = await handle.change(stream, commands_for, "set_expiry", {"ttl_seconds": ttl_seconds}, guard)
    return Version(written.version, replayed=written.replayed)
