"""The sessions of a namespace (http W-65)."""

import struct
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Query
from pydantic import Field

from ledger.application.json_models.session_json import SessionShape
from ledger.application.json_models.shapes import Shape
from ledger.errors import InvalidInput
from ledger.events import to_datetime, to_microseconds
from ledger.events.names import check_name
from ledger.ports.session_index import IndexedSession, LifeStatus
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import LedgerOf, ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import PageLimit
from ledger.server.native.cursors import bad_cursor, cursors_of
from ledger.session.entry_drafts import check_time

router = native_router(tags=["sessions"])

_PLACE = struct.Struct(">q16s")


class SessionPage(Shape):
    """A page of sessions, the last written first."""

    sessions: tuple[SessionShape, ...]
    next_cursor: str | None = Field(description="Goes on after this page; null at the end.")


@router.get("/v1/sessions", operation_id="list_sessions")
async def list_sessions(
    ledger: LedgerOf,
    caller: ReadCaller,
    service: ServiceOf,
    namespace: Annotated[str | None, Query()] = None,
    user_id: Annotated[str | None, Query(description="Only sessions of this user; if empty, of no user.")] = None,
    status: Annotated[str | None, Query(json_schema_extra={"enum": ["live", "expired", "ended"]})] = None,
    q: Annotated[str | None, Query(description="Only sessions with this text in their ids.")] = None,
    id_prefix: Annotated[str | None, Query(description="Only sessions whose ids begin with this text.")] = None,
    user_prefix: Annotated[str | None, Query(description="Only sessions of users whose ids begin so.")] = None,
    run_id: Annotated[str | None, Query(description="Only sessions in which this run of an agent wrote.")] = None,
    updated_after: Annotated[str | None, Query(description="Only sessions last written after this time.")] = None,
    updated_before: Annotated[str | None, Query(description="Only sessions last written before this time.")] = None,
    limit: PageLimit = 100,
    cursor: Annotated[str | None, Query(description="The `next_cursor` of the page before.")] = None,
) -> SessionPage:
    """List sessions, the last written first."""
    name = caller.namespace(namespace)
    if user_id is not None:
        check_name(user_id, field="user_id", may_be_empty=True)
    if q is not None:
        check_name(q, field="q")
    bounds = {"updated_after": updated_after, "updated_before": updated_before}
    earliest, latest = check_time(updated_after, "updated_after"), check_time(updated_before, "updated_before")
    wanted = _status(status)
    names = {"user_id": user_id, "q": q, "id_prefix": id_prefix, "user_prefix": user_prefix, "run_id": run_id}
    cursors = await cursors_of(service.store, "sessions", name, {**names, "status": wanted, **bounds})
    after = None
    if cursor is not None:
        if cursors is None:
            raise bad_cursor()
        moment, stream = _PLACE.unpack(cursors.read(cursor))
        after = (to_datetime(moment), UUID(bytes=stream))

    async def listed(place: tuple[datetime, UUID] | None, most: int) -> list[IndexedSession]:
        return await ledger.list_sessions(
            user_id=user_id,
            status=wanted,
            id_part=q,
            id_prefix=id_prefix,
            user_prefix=user_prefix,
            run_id=run_id,
            updated_after=earliest,
            updated_before=latest,
            after=place,
            limit=most,
        )

    rows = await listed(after, limit)
    more = cursors is not None and len(rows) == limit
    if more:
        more = bool(await listed((rows[-1].updated_at, rows[-1].stream_id), 1))
    now = service.clock.now()
    return SessionPage(
        sessions=tuple(SessionShape.of(row, namespace=name, now=now) for row in rows),
        next_cursor=cursors.make(_place(rows[-1])) if more and cursors is not None else None,
    )


def _status(status: str | None) -> LifeStatus | None:
    if status is None or status in {"live", "expired", "ended"}:
        return status  # type: ignore[return-value]  # one of them
    raise InvalidInput("bad_value", "must be live, expired or ended", field="status")


def _place(row: IndexedSession) -> bytes:
    return _PLACE.pack(to_microseconds(row.updated_at), row.stream_id.bytes)
