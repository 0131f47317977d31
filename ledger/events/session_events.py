"""Events of a session: opened, configured, data changed, expiry set, cleared, restored."""

from typing import Final

import msgspec

from ledger.events.payload_types import Content, JsonObject, Payload, PayloadPart

#: The longest lifetime of a session; one that is stored and longer, or not positive, is read as the nearest allowed.
LONGEST_TTL_SECONDS: Final = 10**9


class ImportedFrom(PayloadPart, frozen=True):
    """The source of an imported session; an export of Memory Ledger also names its ledger and head."""

    format: str
    session_id: str
    user_id: str = ""
    namespace: str | None = None
    ledger_id: str | None = None
    version: int | None = None
    head_hash: str | None = None


class ForkedFrom(PayloadPart, frozen=True):
    """The session whose history up to *version* this one shares, by reference; after it, both are independent."""

    session_id: str
    version: int
    user_id: str = ""


class SessionOpened(Payload, frozen=True):
    """A life of a session starts; *config* is the canonical memory config.

    The first event of a fork at version v has version v+1, and its previous hash is that of the parent's event v.
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
    """Window and summaries are empty from here on; with ``ended``, the life of the session ends too.

    *reread*: the file that it was imported from is read again, and what it says follows; a fork that is *ended* so
    has a new one beside it.
    """

    type = "session.cleared"
    ended: bool = False
    reread: bool = False


class Extraction(PayloadPart, frozen=True):
    """How memories are extracted from messages: ``discrete``, ``summary``, ``preferences`` or ``custom``."""

    strategy: str = "discrete"
    config: JsonObject = msgspec.field(default_factory=dict)


class ConfigChanged(Payload, frozen=True):
    """The whole new memory config; it is used from the next evaluation on.

    It also has the extraction strategy, and the number that clients of the working-memory API store as ``tokens``.
    """

    type = "config.changed"
    schema_version = 2
    config: JsonObject
    extraction: Extraction = Extraction()
    tokens: int = 0


class DataChanged(Payload, frozen=True):
    """Keys of the session data were *set*, with their whole values, or *removed*."""

    type = "data.changed"
    set: Content[JsonObject] = msgspec.field(default_factory=dict)
    removed: Content[tuple[str, ...]] = ()


class ExpirySet(Payload, frozen=True):
    """The session expires *ttl_seconds* after the last write by a client, such as this one; without them, never.

    No event says that it has expired: the clock does.
    """

    type = "expiry.set"
    ttl_seconds: int | None = None


class SessionRestored(Payload, frozen=True):
    """An expired session continues from where it was."""

    type = "session.restored"
