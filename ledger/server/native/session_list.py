"""The sessions of a namespace (http W-65)."""

import struct
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import Field

from ledger.errors import InvalidInput
from ledger.events import to_datetime, to_microseconds
from ledger.names import check_name
from ledger.ports.session_index import IndexedSession, LifeStatus
from ledger.server.callers import ReadCaller
from ledger.server.ledgers import LedgerOf, ServiceOf
from ledger.server.native.cursors import cursors_of
from ledger.server.native.shapes import Shape, Time
from ledger.server.routes import native_router
from ledger.server.strict_body import PageLimit

router = native_router(tags=["sessions"])

_PLACE = struct.Struct(">q16s")


class ListedSession(Shape):
    """A session in a list; ``unreadable`` is one that a newer release has written to."""

    session_id: str
    namespace: str
    user_id: str | None
    status: Literal["live", "expired", "ended", "unreadable"]
    version: int
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    messages: int
    tokens: int


class SessionPage(Shape):
    """A page of sessions, the one written to last first."""

    sessions: list[ListedSession]
    next_cursor: str | None = Field(description="Goes on after this page; null at the end.")


@router.get("/v1/sessions", operation_id="list_sessions")
async def list_sessions(
    ledger: LedgerOf,
    caller: ReadCaller,
    service: ServiceOf,
    namespace: Annotated[str | None, Query()] = None,
    user_id: Annotated[str | None, Query(description="Only the sessions of this user; empty: of nobody.")] = None,
    status: Annotated[str | None, Query(json_schema_extra={"enum": ["live", "expired", "ended"]})] = None,
    limit: PageLimit = 100,
    cursor: Annotated[str | None, Query(description="The `next_cursor` of the page before.")] = None,
) -> SessionPage:
    """List sessions, newest first."""
    namespace_id = caller.namespace(namespace)
    if user_id is not None:
        check_name(user_id, field="user_id", may_be_empty=True)
    wanted = _status(status)
    cursors = await cursors_of(service.store, "sessions", namespace_id, {"user_id": user_id, "status": wanted})
    after = None
    if cursor is not None:
        if cursors is None:
            raise InvalidInput("bad_cursor", "is none of this list; begin without one", field="cursor")
        moment, stream = _PLACE.unpack(cursors.read(cursor))
        after = (to_datetime(moment), UUID(bytes=stream))
    rows = await ledger.list_sessions(user_id=user_id, status=wanted, after=after, limit=limit)
    more = cursors is not None and len(rows) == limit
    if more:
        place = (rows[-1].updated_at, rows[-1].stream_id)
        more = bool(await ledger.list_sessions(user_id=user_id, status=wanted, after=place, limit=1))
    now = service.clock.now()
    return SessionPage(
        sessions=[
            ListedSession(
                session_id=row.session_id,
                namespace=namespace_id,
                user_id=row.user_id or None,
                status="expired" if row.status == "live" and row.expires_at and row.expires_at <= now else row.status,
                version=row.version,
                created_at=row.created_at,
                updated_at=row.updated_at,
                expires_at=row.expires_at,
                messages=row.active,
                tokens=row.total_tokens,
            )
            for row in rows
        ],
        next_cursor=cursors.make(_place(rows[-1])) if more and cursors is not None else None,
    )


def _status(status: str | None) -> LifeStatus | None:
    if status is None or status in {"live", "expired", "ended"}:
        return status  # type: ignore[return-value]  # one of them
    raise InvalidInput("bad_value", "is live, expired or ended", field="status")


def _place(row: IndexedSession) -> bytes:
    return _PLACE.pack(to_microseconds(row.updated_at), row.stream_id.bytes)
