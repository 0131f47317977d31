"""What a service needs of a store beside the log: sessions by their id alone, and the views it has served."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from ledger.ids import Stream
from ledger.session.put import ServedView


class Found(msgspec.Struct, frozen=True):
    """A session that is there under an id, by its other two names."""

    namespace_id: UUID
    user_id: str


class SessionFinder(Protocol):
    """Finding sessions without knowing all of their names."""

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[Found]:
        """Return the sessions with this id whose life has not ended, in these namespaces; they may have expired."""
        ...


class ServedViews(Protocol):
    """The views that were served with messages left out, for a week (http W-55). A cache: without it more stays."""

    async def note_view(self, stream: Stream, view: ServedView, *, now: datetime) -> None:
        """Keep *view*; the same one again is kept once."""
        ...

    async def served_views(self, stream: Stream, *, now: datetime) -> list[ServedView]:
        """Return the views of the last week."""
        ...
