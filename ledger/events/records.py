"""Long-term memory itself: records, on a stream of their own per namespace and user."""

from ledger.events.base import Payload, PayloadPart, Ranges
from ledger.events.memories import MemoryFields


class RecordSource(PayloadPart, frozen=True):
    """What a record was made of: events of a session, a memory or the entries that were read."""

    session_id: str
    covered: Ranges
    user_id: str = ""


class _AboutRecord(Payload, frozen=True):
    """Base of events about one record."""

    record_id: str

    @property
    def item_id(self) -> str:
        """The record's id."""
        return self.record_id


class RecordCreated(_AboutRecord, frozen=True):
    """A record joined long-term memory."""

    type = "record.created"
    fields: MemoryFields
    source: RecordSource | None = None


class RecordEdited(_AboutRecord, frozen=True):
    """A record was changed; *fields* are all of it."""

    type = "record.edited"
    fields: MemoryFields
    source: RecordSource | None = None


class RecordMerged(_AboutRecord, frozen=True):
    """A record stands for others too that said the same; those in *merged* are no longer found."""

    type = "record.merged"
    merged: tuple[str, ...]


class RecordDeleted(_AboutRecord, frozen=True):
    """A record is no longer found: ``deleted`` by a client, ``forgotten`` by a policy, ``moved`` to another stream."""

    type = "record.deleted"
    reason: str = "deleted"


class RecordRestored(_AboutRecord, frozen=True):
    """A record is as it was at *revision*, a version of its stream; *fields* are all of it."""

    type = "record.restored"
    revision: int
    fields: MemoryFields
