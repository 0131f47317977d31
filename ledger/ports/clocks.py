"""The source of time and ids."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    """Time, and the ids that contain it."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...

    def event_id(self) -> UUID:
        """Return a new UUIDv7 (trust H-6)."""
        ...

    def ulid(self) -> str:
        """Return a new ULID, for entries, batches and summaries."""
        ...
