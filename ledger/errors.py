"""Every error that a caller can get, each with a stable ``code`` and a message that says what to do.

No message repeats the refused value, because messages end in logs.

    LedgerError
    ├── InvalidInput            the request is wrong; change it
    │   └── IdempotencyMismatch, ImportRefused
    ├── NotAllowed              the database login, or the caller of the service, may not do this
    │   └── UnsafeRole, NotAuthenticated, NotPermitted
    ├── NotFound                what was asked for does not exist
    │   └── SessionNotFound, VersionNotFound, EntryNotFound, RecordNotFound, SummaryMissing
    ├── Conflict                the state does not allow it, or another writer was first; read and decide again
    │   └── VersionConflict, PreconditionFailed, SeveralSessions, DuplicateEntry, EntryCovered, SessionExists,
    │       NamespaceExists, StreamClosed, StreamNameMismatch, CompactionInProgress, NotEnoughEntries, NothingGained
    └── Unavailable             the request is right; repair the cause, then try again
        ├── DatabaseUnavailable (and DatabaseRefused, ReadOnlyDatabase), StorageFull, RateLimited (and Busy),
        │   TookTooLong, UnsafeDatabase, MigrationNeeded, CompactionNotCompleted, CompactionUnderWay,
        │   RebuildNotCompleted,
        │   SummarizerFailed, EmbedderFailed, IndexBehind, LogRolledBack
        └── Unreadable          a session is stored, but this release cannot fold it
            └── UnknownEvent, UnknownConfig, LogCorrupted
"""

from typing import ClassVar, Literal, TypeAlias

#: Why a compaction gave no summary (R-CMP-3).
FailureReason: TypeAlias = Literal["error", "timeout", "empty", "no_gain", "invalid_output", "abandoned"]


class LedgerError(Exception):
    """Root of all errors of Memory Ledger."""

    code: str = "ledger_error"

    def __init_subclass__(cls, code: str = "") -> None:
        super().__init_subclass__()
        cls.code = code or cls.code


class InvalidInput(LedgerError):
    """The request breaks a rule; *field* is the path of the fault, *limit* the bound that was passed."""

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
    """A file to import is wrong at *line* (from 1) or *byte* (from 0); none of it was stored."""

    def __init__(self, code: str, message: str, *, line: int | None = None, byte: int | None = None) -> None:
        place = f"line {line}" if line is not None else f"byte {byte}" if byte is not None else ""
        super().__init__(code, message, field=place)
        self.line = line
        self.byte = byte


class NotAllowed(LedgerError, code="not_allowed"):
    """The database login lacks a privilege."""


class UnsafeRole(NotAllowed, code="unsafe_role"):
    """The login is a superuser, an owner or bypasses row security: it could rewrite history."""


class NotAuthenticated(NotAllowed, code="not_authenticated"):
    """A request has no valid credential; the message does not say what is wrong with it."""

    def __init__(self) -> None:
        super().__init__("send a valid token: `Authorization: Bearer …`")


class NotPermitted(NotAllowed):
    """The caller's credential does not allow this."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotFound(LedgerError, code="not_found"):
    """What was asked for does not exist."""


class SessionNotFound(NotFound, code="session_not_found"):
    """No event was ever recorded under this session id."""

    def __init__(self, session_id: str) -> None:
        listing = "`memory-ledger sessions`, or list_sessions() of the library,"
        super().__init__(f"session {session_id!r} has no events; {listing} lists those that do")
        self.session_id = session_id


class VersionNotFound(NotFound, code="version_not_found"):
    """The session has no such version, or had no events at that time."""


class EntryNotFound(NotFound, code="entry_not_found"):
    """The window has no such entry; with *ever* false, the history of the session has none either."""

    def __init__(self, entry_id: str, *, ever: bool = True) -> None:
        where = "is not active in" if ever else "was never in"
        listing = "`memory-ledger show`, or get_active_entries() of the library,"
        super().__init__(f"entry {entry_id!r} {where} this session; {listing} lists those that are")
        self.entry_id = entry_id


class RecordNotFound(NotFound, code="record_not_found"):
    """Long-term memory has no such record, or has it no longer."""

    def __init__(self, record_id: str) -> None:
        super().__init__(f"record {record_id!r} is not in long-term memory; its history shows whether it ever was")
        self.record_id = record_id


class Conflict(LedgerError, code="conflict"):
    """The state is not the one that the request expects."""


class VersionConflict(Conflict, code="version_conflict"):
    """Another writer appended first; or, *expired*, the session's life ended by the clock of the store."""

    def __init__(self, *, current: int, expected: int, expired: bool = False) -> None:
        found = "the session has expired" if expired else f"stream is at {current}, expected {expected}"
        super().__init__(f"{found}; read and decide again")
        self.current, self.expected, self.expired = current, expected, expired


class DuplicateEntry(Conflict, code="duplicate_entry"):
    """An entry with this id exists, with other content."""

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"entry id {entry_id!r} is taken by other content; choose a new id or edit that entry")
        self.entry_id = entry_id


class EntryCovered(Conflict, code="entry_covered"):
    """A summary stands for the entry, so neither can be changed."""

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"a summary stands for entry {entry_id!r}; add an entry that corrects it")
        self.entry_id = entry_id


class SessionExists(Conflict, code="session_exists"):
    """An import or a fork would mix two histories."""

    def __init__(self, session_id: str, reason: str = "already holds other events") -> None:
        super().__init__(f"session {session_id!r} {reason}; choose another name")
        self.session_id = session_id


class NamespaceExists(Conflict, code="namespace_exists"):
    """A restore would mix two histories."""

    def __init__(self, namespace: str) -> None:
        super().__init__(f"namespace {namespace!r} exists already; restore into another database, or import the file")
        self.namespace = namespace


class StreamClosed(Conflict, code="stream_closed"):
    """The subject of this stream was erased; no events can be added to it."""

    def __init__(self) -> None:
        super().__init__("this session was closed by an erasure; start a new session")


class StreamNameMismatch(Conflict, code="stream_name_mismatch"):
    """A stream id was sent with names that it was not created with."""

    def __init__(self) -> None:
        super().__init__("the stream id does not belong to these names; compute it from them")


class CompactionInProgress(Conflict, code="compaction_in_progress"):
    """A compaction with this key is already running."""

    def __init__(self, key: str) -> None:
        super().__init__(f"a {key!r} compaction of this session is running; wait for it with settle()")
        self.key = key


class NotEnoughEntries(Conflict, code="not_enough_entries"):
    """Too few entries may leave the window."""

    def __init__(self, *, eligible: int, needed: int, force_helps: bool = True) -> None:
        hint = "add more or use force" if eligible and force_helps else "add more"
        super().__init__(f"{eligible} entries may be compressed, {needed} needed; {hint}")
        self.eligible, self.needed = eligible, needed


class NothingGained(Conflict, code="no_gain"):
    """A summary would not be shorter than what it stands for."""

    def __init__(self) -> None:
        super().__init__("the summary would not be shorter than what it stands for; nothing left the window")


class SeveralSessions(Conflict, code="several_sessions"):
    """Several sessions match the given names; give the user or the namespace too."""

    def __init__(self) -> None:
        super().__init__("several sessions have this id; give `user_id` and `namespace` too")


class PreconditionFailed(Conflict, code="precondition_failed"):
    """The session is not at the version that ``If-Match`` or ``If-None-Match`` names."""


class Unavailable(LedgerError, code="unavailable"):
    """The request is right, but cannot be served now."""

    retry_after_s: ClassVar[int] = 1


class DatabaseUnavailable(Unavailable, code="database_unavailable"):
    """The database does not answer, or refuses for a reason that will pass."""


class DatabaseRefused(DatabaseUnavailable, code="database_refused"):
    """The database server refuses the connection: the password, the login, the name of the database, or TLS."""


class ReadOnlyDatabase(DatabaseUnavailable, code="read_only_database"):
    """The database server takes no writes, like a standby; reading works, and nothing was written."""


class StorageFull(Unavailable, code="storage_full"):
    """The database has no space left; nothing was written."""


class RateLimited(Unavailable, code="rate_limited"):
    """A caller passed its rate limit; *what* is ``requests``, ``events``, ``bytes`` or ``streams``."""

    def __init__(self, retry_after_s: int, what: str = "requests") -> None:
        super().__init__(f"too many {what}; slow down")
        self.wait_s = retry_after_s


class Busy(RateLimited, code="busy"):
    """A caller may have one request at a time that takes much work, such as a what-if, and has one."""

    def __init__(self) -> None:
        super().__init__(1)
        self.args = ("another what-if, trial or verification of yours is running; wait for it, or stop it",)


class TookTooLong(Unavailable, code="took_too_long"):
    """Work that has a deadline was stopped at it."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"it was stopped after {limit_s:g} s; try it at an earlier version")


class IndexBehind(Unavailable, code="index_behind"):
    """An index is not up to date yet; it is being built, and the same request will be answered when it is."""

    retry_after_s: ClassVar[int] = 5

    def __init__(self) -> None:
        super().__init__("the index is being brought up to date with the log; try again in some seconds")


class UnsafeDatabase(Unavailable, code="unsafe_database"):
    """This server is not supported, or with its settings an acknowledged append could be lost."""


class MigrationNeeded(Unavailable, code="migration_needed"):
    """The database has no schema yet, or an older or newer one than this release."""


class CompactionNotCompleted(Unavailable, code="compaction_failed"):
    """A requested compaction did not complete; nothing left the window."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"compaction failed ({reason}): {detail}; every entry is still in the window")
        self.reason = reason


class RebuildNotCompleted(Unavailable, code="rebuild_failed"):
    """A rebuild did not complete; the session is as it was."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"the rebuild failed ({reason}): {detail}; the session is as it was, ask again to go on")
        self.reason = reason


class CompactionUnderWay(Unavailable, code="compaction_under_way"):
    """A compaction takes longer than its caller waits; it goes on, and the session will have its result."""

    def __init__(self, compaction_id: str) -> None:
        super().__init__(f"compaction {compaction_id!r} goes on in the background; read the session later")
        self.compaction_id = compaction_id


class SummarizerFailed(Unavailable, code="summarizer_failed"):
    """A summarizer returned no usable text; *reason* says why, such as ``empty`` or ``no_gain``."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class EmbedderFailed(Unavailable, code="embedder_failed"):
    """An embedder returned no usable vectors; search by words still works."""


class Unreadable(Unavailable, code="unreadable"):
    """This release cannot fold a session; its events can still be listed, exported and verified."""


class SummaryMissing(NotFound, code="summary_missing"):
    """A replay needs a summary that no model has written yet; *request_hash* says which."""

    def __init__(self, request_hash: str) -> None:
        super().__init__("no model has written this summary yet; set `on_miss` to call a model, or to estimate")
        self.request_hash = request_hash


class UnknownEvent(Unreadable, code="unknown_event"):
    """An event was written by a newer release."""

    def __init__(self, type_: str, schema_version: int, *, version: int) -> None:
        what = f"{type_!r} schema {schema_version}"
        super().__init__(f"event {version} is {what}, written by a newer release; upgrade to read it")
        self.type = type_
        self.schema_version = schema_version
        self.version = version


class UnknownConfig(Unreadable, code="unknown_config"):
    """A session's memory config names something that this release does not have."""

    def __init__(self, fault: InvalidInput, *, version: int) -> None:
        hint = "upgrade, or install the package of its strategy"
        super().__init__(f"event {version} has a memory config this release cannot read ({fault}); {hint}")
        self.field = fault.field
        self.version = version


class LogRolledBack(Unavailable, code="log_rolled_back"):
    """The database went back to an earlier state, as after a failover or from a backup."""

    def __init__(self) -> None:
        super().__init__(
            "the log went back: events that were read or written are no longer in it; read again, and compare what you"
            " have with the log"
        )


class LogCorrupted(Unreadable, code="log_corrupted"):
    """The log contradicts itself; run `memory-ledger verify`."""
