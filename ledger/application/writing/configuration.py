"""Change the memory config of a session."""

from collections.abc import Sequence
from typing import Unpack

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import existing_state
from ledger.application.session_start import live_commands, opening_commands, starts_life
from ledger.errors import InvalidInput
from ledger.events import SessionOpened, to_datetime
from ledger.events.strict_json import check_flag
from ledger.indexes.search.knowledge import check_usable
from ledger.results import ConfigLike, Configured, Guard, RebuildProgress
from ledger.session.commands import ChangeConfig, Command
from ledger.session.rebuild_commands import RequestRebuild
from ledger.session.rebuild_decisions import running
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig


async def update_config(
    handle: NamespaceHandle,
    session_id: str | None,
    config: ConfigLike,
    *,
    replace: bool = False,
    existing: bool = False,
    rebuild: bool = False,
    **guard: Unpack[Guard],
) -> Configured:
    """Merge *config* into the session's memory config, or *replace* all of it, from the next batch on.

    Without a session it is the config of new sessions: this is not stored and lasts until the ledger is closed, and
    the version is 0. Sessions that exist keep theirs.

    A session without events starts with it, and one that has ended or expired starts a new life with it, which the
    result says, unless *existing* is true: then the session must exist and be live.
    Entries that were covered or erased stay so, and summaries of strategies that the config no longer has stay until
    newer ones take their places. With *rebuild* all of the history since the last clear is shown as if the config had
    always applied, as `what_if` shows it: summaries are written in the background, with those that are recorded used
    again, and then window and config change in one step. Until then the session goes on as before, and a process
    that ends loses nothing. `settle` waits for it, `get_rebuild` tells how far it is, and `restore` of the version
    before undoes it.

    Raises:
        InvalidInput: ``bad_config``, with the JSON path of the fault; or ``session_ended``: the existing
            session has ended or expired.
        SessionNotFound: the session has no events, and *existing* is true.
        VersionConflict: the session is not at *expected_version*.
    """
    check_flag(replace, field="replace")
    check_flag(existing, field="existing")
    check_flag(rebuild, field="rebuild")
    whole = check_usable(memory_config.load(config)) if replace else None
    given = whole or config
    changes = memory_config.dump(given) if isinstance(given, MemoryConfig) else given
    if session_id is None:
        _check_no_session(existing=existing, rebuild=rebuild, **guard)
        services = handle.services
        services.check_open()
        services.config = whole or check_usable(memory_config.update(services.config, changes))
        return Configured(version=0, config=services.config)
    if existing:
        stream = await handle.existing(session_id, guard.get("user_id"))
    else:
        stream = handle.stream(session_id, guard.get("user_id"))

    async def commands_for(state: SessionState) -> Sequence[Command]:
        resuming = live_commands(handle, state) if existing else []
        before = state.config if state.opened else handle.services.config
        after = whole or check_usable(memory_config.update(before, changes))
        handle.rights.check_config(after, known=before)
        opening = resuming if existing else opening_commands(handle, stream, state, after)
        if opening and starts_life(handle, state):
            return opening
        clock = handle.services.clock
        if rebuild:
            return [*opening, RequestRebuild(clock.ulid(), clock.ulid(), after)]
        return [*opening, ChangeConfig(clock.ulid(), after)]

    operation, body = ("configure", {"config": changes}) if whole else ("update_config", {"changes": changes})
    if rebuild:
        operation = f"{operation}_rebuild"
    written = await handle.change(stream, commands_for, operation, body, guard)
    state = written.state
    if written.replayed:
        state = await handle.services.states.past(stream, version=written.version)
    asked = running(state) if rebuild else None
    if asked is not None and not written.replayed:
        handle.services.compactor.rebuilder.start(stream, asked, actor=handle.actor)
    return Configured(
        version=written.version,
        config=memory_config.load(asked.config) if asked else whole or state.config,
        replayed=written.replayed,
        opened=any(isinstance(event.payload, SessionOpened) for event in written.events),
        rebuild_id=asked.rebuild_id if asked else None,
    )


async def get_rebuild(
    handle: NamespaceHandle, session_id: str, *, user_id: str | None = None
) -> RebuildProgress | None:
    """Return the newest rebuild in this life of the session: how far it is, or how it ended; None without one.

    Raises:
        SessionNotFound: the session has no events.
    """
    state = await existing_state(handle, session_id, user_id=user_id)
    found = state.rebuild
    if found is None:
        return None
    return RebuildProgress(
        rebuild_id=found.rebuild_id,
        status=found.status,
        config=memory_config.load(found.config),
        requested_version=found.version,
        requested_at=to_datetime(found.requested_us),
        touched_at=to_datetime(found.touched_us),
        summaries=found.summaries,
        until=found.until,
        version=state.version,
        paused=found.paused,
        ended_version=found.ended_version,
        reason=found.reason,
        detail=found.detail,
    )


def _check_no_session(**options: object) -> None:
    """Refuse options that are about one session."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise InvalidInput("needs_session", "is about one session; name the session, or leave it out", field=name)
