"""The system clock: the only place that reads time and creates ids."""

from datetime import UTC, datetime
from uuid import UUID

import uuid_utils
from uuid_utils.compat import uuid7

from ledger.events.ids import ulid


class SystemClock:
    """Time of this machine, ids of this process."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        return datetime.now(UTC)  # noqa: TID251 - this is the clock

    def event_id(self) -> UUID:
        """Return a new UUIDv7 (trust H-6)."""
        return uuid7()

    def ulid(self) -> str:
        """Return a new ULID: a UUIDv7 in the ULID alphabet."""
        return ulid(uuid_utils.uuid7().bytes)
