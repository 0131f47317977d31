"""The service's part of the reference store: sessions by id, and views that were served."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from ledger.ids import Stream
from ledger.ports.serving import Found
from ledger.session.put import ServedView


class _Space(Protocol):
    """What is asked of a namespace."""

    names: dict[UUID, Stream]
    ended: dict[UUID, bool]
    views: dict[UUID, dict[ServedView, datetime]]


class InMemoryServing:
    """See `ports.serving`."""

    def __init__(self, spaces: Mapping[UUID, _Space]) -> None:
        self._spaces = spaces

    async def find_sessions(
        self, namespace_ids: Sequence[UUID], session_id: str, *, user_id: str | None = None
    ) -> list[Found]:
        """See `serving_ports.SessionFinder.find_sessions`."""
        return [
            Found(space_id, stream.user_id)
            for space_id in namespace_ids
            if (space := self._spaces.get(space_id)) is not None
            for stream in sorted(space.names.values(), key=lambda stream: stream.user_id)
            if stream.session_id == session_id and (user_id is None or stream.user_id == user_id)
            if not space.ended.get(stream.stream_id, False)
        ]

    async def note_view(self, stream: Stream, view: ServedView, *, now: datetime) -> None:
        """See `serving_ports.ServedViews.note_view`."""
        self._spaces[stream.namespace_id].views.setdefault(stream.stream_id, {})[view] = now

    async def served_views(self, stream: Stream, *, now: datetime) -> list[ServedView]:
        """See `serving_ports.ServedViews.served_views`."""
        space = self._spaces.get(stream.namespace_id)
        views = space.views.get(stream.stream_id, {}) if space else {}
        return [view for view, served_at in views.items() if served_at >= now - timedelta(days=7)]
