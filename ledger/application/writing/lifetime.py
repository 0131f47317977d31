"""Clear a session now, or let it expire."""

from collections.abc import Sequence
from typing import Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import live_commands, resuming_commands, starts_life
from ledger.events import LONGEST_TTL_SECONDS, SessionCleared
from ledger.events.strict_json import check_flag, check_integer
from ledger.results import Guard, Version
from ledger.session.commands import ClearSession, Command, SetExpiry
from ledger.session.state import SessionState


async def clear_session(
    handle: NamespaceHandle, session_id: str, *, end: bool = False, **guard: Unpack[Guard]
) -> Version:
    """Empty the window and return the session's version; history and config stay.

    With *end* the session ends; an entry added later starts a new life. An unknown or empty session does not change.
    """
    check_flag(end, field="end")

    async def commands_for(state: SessionState) -> Sequence[Command]:
        if starts_life(handle, state) and state.opened and not end:
            return []  # it has expired and shows nothing
        return [*resuming_commands(handle, state), ClearSession(handle.services.clock.ulid(), end)]

    stream = handle.stream(session_id, guard.get("user_id"))
    written = await handle.change(stream, commands_for, "clear_session", {"end": end}, guard)
    if not written.replayed and any(isinstance(event.payload, SessionCleared) for event in written.events):
        handle.services.notifications.notify(handle.namespace, "session:cleared", session_id)
    return Version(written.version, replayed=written.replayed)


async def set_expiry(
    handle: NamespaceHandle, session_id: str, ttl_seconds: int | None, **guard: Unpack[Guard]
) -> Version:
    """Let the session expire *ttl_seconds* after its last write, or never if None; return its version.

    Nothing is deleted when it expires, and its history can still be read.

    Raises:
        InvalidInput: *ttl_seconds* is not between 1 and 1,000,000,000; or the session has ended or expired.
        SessionNotFound: the session has no events.
        VersionConflict: the session is not at *expected_version*.
    """
    # http W-20
    if ttl_seconds is not None:
        check_integer(ttl_seconds, field="ttl_seconds", least=1, most=LONGEST_TTL_SECONDS)
    stream = await handle.existing(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        return [*live_commands(handle, state), SetExpiry(handle.services.clock.ulid(), ttl_seconds)]

    written = await handle.change(stream, commands_for, "set_expiry", {"ttl_seconds": ttl_seconds}, guard)
    return Version(written.version, replayed=written.replayed)
