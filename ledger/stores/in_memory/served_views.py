"""The views that a service has served, in memory."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from ledger.events.ids import Stream
from ledger.stores.in_memory.namespace_rows import StoredNamespace
from projections.working_memory import ServedView


class InMemoryServedViews:
    """See `ports.served_views.ServedViewStore`."""

    def __init__(self, namespaces: Mapping[UUID, StoredNamespace]) -> None:
        self._namespaces = namespaces

    async def save(self, stream: Stream, view: ServedView, *, now: datetime) -> None:
        self._namespaces[stream.namespace_id].views.setdefault(stream.stream_id, {})[view] = now

    async def load(self, stream: Stream, *, now: datetime) -> list[ServedView]:
        namespace = self._namespaces.get(stream.namespace_id)
        views = namespace.views.get(stream.stream_id, {}) if namespace else {}
        return [view for view, served_at in views.items() if served_at >= now - timedelta(days=7)]
