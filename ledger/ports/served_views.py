"""The views of sessions that a service has served with messages left out."""

from datetime import datetime
from typing import Protocol

from ledger.events.ids import Stream
from projections.working_memory import ServedView


class ServedViewStore(Protocol):
    """The views of the last week (http W-55). A cache: without it a PUT removes fewer messages."""

    async def save(self, stream: Stream, view: ServedView, *, now: datetime) -> None:
        """Store *view*; storing the same view again changes nothing but its time."""
        ...

    async def load(self, stream: Stream, *, now: datetime) -> list[ServedView]:
        """Return the views of the last week."""
        ...
