"""The forks of a session, and of the session that it comes from."""

from datetime import datetime
from typing import Final

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.errors import SessionNotFound
from ledger.events.ids import Stream
from ledger.ports import StreamHead
from ledger.ports.session_index import SessionStatus

MOST_MEMBERS: Final = 500


class FamilyMember(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a family, which shares the history of its *parent* up to version *at_version*."""

    session_id: str
    user_id: str
    version: int
    parent: str | None
    parent_user_id: str | None
    at_version: int | None
    status: SessionStatus
    updated_at: datetime | None


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions that share a beginning, parents before their forks: first the *root*; *cut* if there are more."""

    root: FamilyMember
    members: tuple[FamilyMember, ...]
    cut: bool


async def family(handle: NamespaceHandle, session_id: str, *, user_id: str | None = None) -> Family:
    """Return the session, those it was forked from, and all forks of these, at most 500.

    Raises:
        SessionNotFound: the session has no events.
    """
    lineage = await handle.services.store.events.lineage(handle.stream(session_id, user_id))
    if not lineage:
        raise SessionNotFound(session_id)
    root = Stream.of(handle.namespace, lineage[-1].session_id, lineage[-1].user_id)
    found = await handle.services.store.events.family(root, limit=MOST_MEMBERS + 1)
    heads = {head.stream_id: head for head in [*found[:MOST_MEMBERS], *reversed(lineage)]}
    rows = await handle.indexes.sessions.rows(list(heads))
    now = handle.services.clock.now()

    def member(head: StreamHead) -> FamilyMember:
        row = rows.get(head.stream_id)
        parent = None if head.parent_id is None else heads.get(head.parent_id)
        return FamilyMember(
            session_id=head.session_id,
            user_id=head.user_id,
            version=head.version,
            parent=parent.session_id if parent else None,
            parent_user_id=parent.user_id if parent else None,
            at_version=head.parent_version,
            status="unreadable" if row is None else row.status_at(now),
            updated_at=row.updated_at if row else None,
        )

    members = tuple(map(member, heads.values()))
    return Family(root=members[0], members=members, cut=len(found) > MOST_MEMBERS)
