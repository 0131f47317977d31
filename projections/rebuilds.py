"""The newest rebuild of a session, as a fold: what was asked for, how far it came, how it ended. Source: R-RBD-1."""

from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ledger.events import (
    JsonObject,
    RebuildAnswered,
    RebuildCompleted,
    RebuildFailed,
    RebuildFailure,
    RebuildRequested,
    RecordedEvent,
    SessionCleared,
)

RebuildStatus: TypeAlias = Literal["running", "completed", "failed"]


class Rebuild(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rebuild that was requested at *version*.

    While it runs, *until* is the version that it had come to when a model last wrote a text for it, and *summaries*
    counts those texts; if it is *paused*, no process carries it out until a worker does. *ended_version* is that of the
    event that ended it. Times are in microseconds.
    """

    rebuild_id: str
    version: int
    config: JsonObject
    requested_us: int
    touched_us: int
    status: RebuildStatus = "running"
    until: int = 0
    summaries: int = 0
    paused: bool = False
    ended_version: int | None = None
    reason: RebuildFailure | None = None
    detail: str = ""


def evolve(state: Rebuild | None, event: RecordedEvent) -> Rebuild | None:
    """Return the newest rebuild after *event*."""
    payload = event.payload
    if isinstance(payload, RebuildRequested):
        return Rebuild(
            rebuild_id=payload.rebuild_id,
            version=event.version,
            config=payload.config,
            requested_us=event.recorded_us,
            touched_us=event.recorded_us,
        )
    if isinstance(payload, SessionCleared):
        return None if payload.ended else state
    if state is None or getattr(payload, "rebuild_id", None) != state.rebuild_id or state.status != "running":
        return state
    match payload:
        case RebuildAnswered(until=until, paused=paused):
            return replace(
                state,
                until=max(state.until, until),
                summaries=state.summaries + 1,
                paused=paused,
                touched_us=event.recorded_us,
            )
        case RebuildCompleted():
            return replace(state, status="completed", paused=False, ended_version=event.version)
        case RebuildFailed(reason=reason, detail=detail):
            return replace(
                state, status="failed", paused=False, ended_version=event.version, reason=reason, detail=detail
            )
        case _:
            return state
