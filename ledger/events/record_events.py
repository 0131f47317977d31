"""Events of records, the items of long-term memory, on one stream per namespace and user."""

from ledger.events.memory_events import MemoryFields
from ledger.events.payload_types import Payload, PayloadPart, Ranges


class RecordSource(PayloadPart, frozen=True):
    """The source of a record: the versions of a memory, or of entries, in a session."""

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
    """A record was added to long-term memory."""

    type = "record.created"
    fields: MemoryFields
    source: RecordSource | None = None


class RecordEdited(_AboutRecord, frozen=True):
    """A record was changed; *fields* is its whole new content."""

    type = "record.edited"
    fields: MemoryFields
    source: RecordSource | None = None


class RecordMerged(_AboutRecord, frozen=True):
    """A record replaces others with the same content; search no longer finds those in *merged*."""

    type = "record.merged"
    merged: tuple[str, ...]


class RecordDeleted(_AboutRecord, frozen=True):
    """Search no longer finds a record: ``deleted`` by a client, ``forgotten`` by a policy, ``moved`` to a stream."""

    type = "record.deleted"
    reason: str = "deleted"


class RecordRestored(_AboutRecord, frozen=True):
    """A record was set back to *revision*, a version of its stream; *fields* is its whole content."""

    type = "record.restored"
    revision: int
    fields: MemoryFields
