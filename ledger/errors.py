"""Every error a caller can meet.

Each carries a stable ``code``; its message says what to do. None repeats the refused value, because a
message may end in a log.

    LedgerError
    ├── InvalidInput            the request is wrong; change it
    │   ├── IdempotencyMismatch
    │   └── ImportRefused       … at this line of this file
    ├── NotAllowed              the database login, or the caller of the service, may not do this
    │   ├── UnsafeRole          the login could rewrite history
    │   ├── NotAuthenticated    nobody knows who calls
    │   └── NotPermitted        … but this caller may not
    ├── NotFound
    │   ├── SessionNotFound
    │   ├── VersionNotFound     … no such version or moment of the session
    │   ├── EntryNotFound
    │   └── RecordNotFound      … in long-term memory
    ├── Conflict                somebody else was there; look and decide again
    │   ├── VersionConflict
    │   ├── SeveralSessions
    │   ├── DuplicateEntry
    │   ├── SessionExists
    │   ├── NamespaceExists
    │   ├── StreamClosed
    │   ├── StreamNameMismatch
    │   ├── CompactionInProgress
    │   ├── NotEnoughEntries
    │   ├── NothingGained
    │   └── PreconditionFailed  If-Match or If-None-Match does not hold
    └── Unavailable             nothing wrong with the request; repair, then try again
        ├── DatabaseUnavailable
        ├── StorageFull
        ├── RateLimited         too much of one caller
        ├── UnsafeDatabase
        ├── MigrationNeeded
        ├── CompactionFailed
        ├── CompactionUnderWay
        ├── SummarizerFailed
        ├── EmbedderFailed
        ├── SummaryMissing
        └── Unreadable          a session is kept, but cannot be folded here
            ├── UnknownEvent
            ├── UnknownConfig
            └── LogCorrupted
"""

from typing import ClassVar, Literal, TypeAlias

#: Why a compaction gave nothing (R-CMP-3).
FailureReason: TypeAlias = Literal["error", "timeout", "empty", "no_gain", "invalid_output", "abandoned"]


class LedgerError(Exception):
    """Root of all errors of Memory Ledger."""

    code: str = "ledger_error"


class InvalidInput(LedgerError):
    """The request breaks a rule; *field* is its path, *limit* the bound it passed."""

    def __init__(self, code: str, message: str, *, field: str = "", limit: int | None = None) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.code = code
        self.field = field
        self.limit = limit


class IdempotencyMismatch(InvalidInput):
    """The idempotency key was used before, for another request."""

    def __init__(self) -> None:
        super().__init__("idempotency_mismatch", "this key belongs to a different request; use a new key")


class ImportRefused(InvalidInput):
    """A file to import is wrong at *line* (from 1) or *byte* (from 0); nothing of it was stored."""

    def __init__(self, code: str, message: str, *, line: int | None = None, byte: int | None = None) -> None:
        place = f"line {line}" if line is not None else f"byte {byte}" if byte is not None else ""
        super().__init__(code, message, field=place)
        self.line = line
        self.byte = byte


class NotAllowed(LedgerError):
    """The database login lacks a privilege."""

    code = "not_allowed"


class UnsafeRole(NotAllowed):
    """The login is a superuser, an owner or bypasses row security: it could rewrite history."""

    code = "unsafe_role"


class NotAuthenticated(NotAllowed):
    """A request has no credential, or one that does not hold; it is not said which."""

    code = "not_authenticated"

    def __init__(self) -> None:
        super().__init__("send a valid token: `Authorization: Bearer …`")


class NotPermitted(NotAllowed):
    """The caller's credential does not reach this far."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotFound(LedgerError):
    """There is no such thing here."""

    code = "not_found"


class SessionNotFound(NotFound):
    """No event was ever recorded under this session id."""

    code = "session_not_found"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} has no events; `memory-ledger sessions` lists those that do")
        self.session_id = session_id


class VersionNotFound(NotFound):
    """The session has no such version, or had no events at that moment."""

    code = "version_not_found"


class EntryNotFound(NotFound):
    """The window has no such entry, or, if it was not *ever* there, the session's history has none."""

    code = "entry_not_found"

    def __init__(self, entry_id: str, *, ever: bool = True) -> None:
        where = "is not active in" if ever else "was never in"
        super().__init__(f"entry {entry_id!r} {where} this session; `show` lists those that are, by version")
        self.entry_id = entry_id


class RecordNotFound(NotFound):
    """Long-term memory has no such record, or none any more."""

    code = "record_not_found"

    def __init__(self, record_id: str) -> None:
        super().__init__(f"record {record_id!r} is not in long-term memory; its history says if it ever was")
        self.record_id = record_id


class Conflict(LedgerError):
    """The state is not the one the request was made for."""

    code = "conflict"


class VersionConflict(Conflict):
    """Another writer appended first."""

    code = "version_conflict"

    def __init__(self, *, current: int, expected: int) -> None:
        super().__init__(f"stream is at {current}, expected {expected}; read and decide again")
        self.current = current
        self.expected = expected


class DuplicateEntry(Conflict):
    """An entry id is known, with other content."""

    code = "duplicate_entry"

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"entry id {entry_id!r} is taken by other content; choose a new id or edit that entry")
        self.entry_id = entry_id


class SessionExists(Conflict):
    """An import or a fork would mix two histories."""

    code = "session_exists"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} already holds other events; choose another name")
        self.session_id = session_id


class NamespaceExists(Conflict):
    """A restore would mix two histories."""

    code = "namespace_exists"

    def __init__(self, namespace: str) -> None:
        super().__init__(f"namespace {namespace!r} is there already; restore it where it is not, or import the file")
        self.namespace = namespace


class StreamClosed(Conflict):
    """The subject of this stream was erased; it takes no more events."""

    code = "stream_closed"

    def __init__(self) -> None:
        super().__init__("this session was closed by an erasure; start a new session")


class StreamNameMismatch(Conflict):
    """A stream id was sent with other names than it was created with."""

    code = "stream_name_mismatch"

    def __init__(self) -> None:
        super().__init__("the stream id does not belong to these names; compute it from them")


class CompactionInProgress(Conflict):
    """A compaction with this key is running already."""

    code = "compaction_in_progress"

    def __init__(self, key: str) -> None:
        super().__init__(f"a {key!r} compaction of this session is running; wait for it with settle()")
        self.key = key


class NotEnoughEntries(Conflict):
    """Too few entries may leave the window."""

    code = "not_enough_entries"

    def __init__(self, *, eligible: int, needed: int) -> None:
        hint = "add more or use force" if eligible else "add more"
        super().__init__(f"{eligible} entries may be compressed, {needed} needed; {hint}")
        self.eligible = eligible
        self.needed = needed


class NothingGained(Conflict):
    """A summary would be as long as what it is to stand for."""

    code = "no_gain"

    def __init__(self) -> None:
        super().__init__("the summary would be no shorter than what it stands for; nothing left the window")


class SeveralSessions(Conflict):
    """Several sessions match the names that were given; name the user or the namespace too."""

    code = "several_sessions"

    def __init__(self) -> None:
        super().__init__("several sessions have this id; give user_id and namespace too")


class PreconditionFailed(Conflict):
    """The session is not at the version that ``If-Match`` or ``If-None-Match`` names."""

    code = "precondition_failed"


class Unavailable(LedgerError):
    """The request is fine, but cannot be served now."""

    code = "unavailable"
    retry_after_s: ClassVar[int] = 1


class DatabaseUnavailable(Unavailable):
    """The database does not answer, or refuses for a passing reason."""

    code = "database_unavailable"


class StorageFull(Unavailable):
    """The database has no space left; nothing was written."""

    code = "storage_full"


class RateLimited(Unavailable):
    """A caller asks for more than the service lets it: *what* is ``requests``, ``events``, ``bytes`` or ``streams``."""

    code = "rate_limited"

    def __init__(self, retry_after_s: int, what: str = "requests") -> None:
        super().__init__(f"too many {what}; slow down")
        self.wait_s = retry_after_s


class UnsafeDatabase(Unavailable):
    """A server setting would let an acknowledged append be lost."""

    code = "unsafe_database"


class MigrationNeeded(Unavailable):
    """The database has no schema yet, or an older or newer one than this release."""

    code = "migration_needed"


class CompactionNotCompleted(Unavailable):
    """A compaction that was asked for did not complete; nothing left the window."""

    code = "compaction_failed"

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"compaction failed ({reason}): {detail}; every entry is still in the window")
        self.reason = reason


class CompactionUnderWay(Unavailable):
    """A compaction takes longer than its caller waits; it goes on, and its result will be in the session."""

    code = "compaction_under_way"

    def __init__(self, compaction_id: str) -> None:
        super().__init__(f"compaction {compaction_id!r} goes on in the background; look at the session later")
        self.compaction_id = compaction_id


class SummarizerFailed(Unavailable):
    """A summarizer gave no usable text; *reason* says why, e.g. ``empty`` or ``no_gain``."""

    code = "summarizer_failed"

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class EmbedderFailed(Unavailable):
    """An embedder gave no usable vectors; texts are still found by their words."""

    code = "embedder_failed"


class Unreadable(Unavailable):
    """A session cannot be folded by this release; listing its events, exporting and verifying it work."""

    code = "unreadable"


class SummaryMissing(NotFound):
    """A replay needs a summary that no model has written yet; *request_hash* says which."""

    code = "summary_missing"

    def __init__(self, request_hash: str) -> None:
        super().__init__(
            "no model has written this summary yet: ask one now (on_miss `call`), or take a placeholder (`estimate`)"
        )
        self.request_hash = request_hash


class UnknownEvent(Unreadable):
    """An event was written by a newer release."""

    code = "unknown_event"

    def __init__(self, type_: str, schema_version: int, *, version: int) -> None:
        super().__init__(
            f"event {version} is {type_!r} schema {schema_version}, written by a newer release; upgrade to read it"
        )
        self.type = type_
        self.schema_version = schema_version
        self.version = version


class UnknownConfig(Unreadable):
    """A session's memory config names what this release does not have."""

    code = "unknown_config"

    def __init__(self, fault: InvalidInput, *, version: int) -> None:
        super().__init__(
            f"event {version} has a memory config this release cannot read ({fault}); "
            "upgrade, or install the package of its strategy"
        )
        self.field = fault.field
        self.version = version


class LogCorrupted(Unreadable):
    """The log contradicts itself; run `memory-ledger verify`."""

    code = "log_corrupted"
