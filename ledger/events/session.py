"""The life of a session: opened, configured, given data and a lifetime, cleared, resumed."""

import msgspec

from ledger.events.base import JsonObject, Payload, PayloadPart


class ImportedFrom(PayloadPart, frozen=True):
    """Where an imported session came from; an own export also names its ledger and head."""

    format: str
    session_id: str
    user_id: str = ""
    namespace: str | None = None
    ledger_id: str | None = None
    version: int | None = None
    head_hash: str | None = None


class ForkedFrom(PayloadPart, frozen=True):
    """The session whose history up to *version* is also this one's, by reference; both go on by themselves."""

    session_id: str
    version: int
    user_id: str = ""


class SessionOpened(Payload, frozen=True):
    """A life of a session begins; *config* is the canonical memory config.

    A fork's first event has version v+1, and as previous hash that of its parent at v.
    """

    type = "session.opened"
    schema_version = 2
    namespace: str
    user_id: str
    session_id: str
    config: JsonObject
    imported_from: ImportedFrom | None = None
    forked_from: ForkedFrom | None = None


class SessionCleared(Payload, frozen=True):
    """Window and summaries are empty from here; ``ended`` also ends the life of the session."""

    type = "session.cleared"
    ended: bool = False


class Extraction(PayloadPart, frozen=True):
    """How memories are made of a session's messages: ``discrete``, ``summary``, ``preferences`` or ``custom``."""

    strategy: str = "discrete"
    config: JsonObject = msgspec.field(default_factory=dict)


class ConfigChanged(Payload, frozen=True):
    """The whole new memory config; it acts from the next evaluation.

    For clients of the working-memory API also the extraction strategy and the number they keep as ``tokens``,
    both whole too.
    """

    type = "config.changed"
    schema_version = 2
    config: JsonObject
    extraction: Extraction = Extraction()
    tokens: int = 0


class DataChanged(Payload, frozen=True):
    """Keys of the session's own JSON object were *set*, whole, or *removed*."""

    type = "data.changed"
    set: JsonObject = msgspec.field(default_factory=dict)
    removed: tuple[str, ...] = ()


class ExpirySet(Payload, frozen=True):
    """The session expires *ttl_seconds* after its last write by a client, which this is too; none: never.

    That it has expired follows from the clock, without any event.
    """

    type = "expiry.set"
    ttl_seconds: int | None = None


class SessionRestored(Payload, frozen=True):
    """An expired session goes on where it was when it expired."""

    type = "session.restored"
