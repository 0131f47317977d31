"""Change the memory config of a session."""

from collections.abc import Sequence
from typing import Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import opening_commands, starts_life
from ledger.errors import InvalidInput
from ledger.results import ConfigLike, Configured, Guard
from ledger.search.knowledge import check_usable
from ledger.session.commands import ChangeConfig, Command
from ledger.session.state import SessionState
from ledger.strict_json import check_flag
from projections import config as memory_config
from projections.config import MemoryConfig


async def update_config(
    handle: NamespaceHandle,
    session_id: str | None,
    config: ConfigLike,
    *,
    replace: bool = False,
    existing: bool = False,
    **guard: Unpack[Guard],
) -> Configured:
    """Merge *config* into the session's memory config, or *replace* all of it, from the next batch on.

    Without a session it is the config of new sessions: this is not stored and lasts until the ledger is closed, and
    the version is 0. Sessions that exist keep theirs.

    A session without events starts with it, unless *existing* is true: then the session must exist and be live.
    Entries that were covered or erased stay so: a new config does not reproduce what a what-if showed.

    Raises:
        InvalidInput: ``bad_config``, with the JSON path of the fault; or the existing session has ended.
        SessionNotFound: the session has no events, and *existing* is true.
        VersionConflict: the session is not at *expected_version*.
    """
    check_flag(replace, field="replace")
    check_flag(existing, field="existing")
    whole = check_usable(memory_config.load(config)) if replace else None
    given = whole or config
    changes = memory_config.dump(given) if isinstance(given, MemoryConfig) else given
    if session_id is None:
        _check_no_session(existing=existing, **guard)
        services = handle.services
        services.check_open()
        services.config = whole or check_usable(memory_config.update(services.config, changes))
        return Configured(version=0, config=services.config)
    if existing:
        stream = await handle.existing(session_id, guard.get("user_id"))
    else:
        stream = handle.stream(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        if existing and not state.opened:
            raise InvalidInput(
                "session_ended",
                "names a session that has ended; add an entry to start it again",
                field="session_id",
            )
        before = state.config if state.opened else handle.services.config
        after = whole or check_usable(memory_config.update(before, changes))
        handle.rights.check_config(after, known=before)
        opening = [] if existing else opening_commands(handle, stream, state, after)
        if opening and starts_life(handle, state):
            return opening
        return [*opening, ChangeConfig(handle.services.clock.ulid(), after)]

    operation, body = ("configure", {"config": changes}) if whole else ("update_config", {"changes": changes})
    written = await handle.change(stream, commands_for, operation, body, guard)
    state = written.state
    if written.replayed:
        state = await handle.services.states.past(stream, version=written.version)
    return Configured(version=written.version, config=whole or state.config, replayed=written.replayed)


def _check_no_session(**options: object) -> None:
    """Refuse options that are about one session."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise InvalidInput("needs_session", "is about one session; name the session, or leave it out", field=name)
