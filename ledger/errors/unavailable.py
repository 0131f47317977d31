"""Errors of a request that is right: it can be tried again once their cause is repaired."""

from typing import ClassVar, Literal, TypeAlias

from ledger.errors.wrong_requests import InvalidInput, LedgerError

#: Why a compaction gave no summary (R-CMP-3).
FailureReason: TypeAlias = Literal["error", "timeout", "empty", "no_gain", "invalid_output", "abandoned"]


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


class UnsafeDatabase(Unavailable, code="unsafe_database"):
    """This server is not supported, or with its settings an acknowledged append could be lost."""


class MigrationNeeded(Unavailable, code="migration_needed"):
    """The database has no schema yet, or an older or newer one than this release."""


class CompactionNotCompleted(Unavailable, code="compaction_failed"):
    """A requested compaction did not complete; nothing left the window."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"compaction failed ({reason}): {detail}; every entry is still in the window")
        self.reason = reason


class CompactionUnderWay(Unavailable, code="compaction_under_way"):
    """A compaction takes longer than its caller waits; it goes on, and the session will have its result."""

    def __init__(self, compaction_id: str) -> None:
        super().__init__(f"compaction {compaction_id!r} goes on in the background; read the session later")
        self.compaction_id = compaction_id


class RebuildNotCompleted(Unavailable, code="rebuild_failed"):
    """A rebuild did not complete; the session is as it was."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"the rebuild failed ({reason}): {detail}; the session is as it was, ask again to go on")
        self.reason = reason


class SummarizerFailed(Unavailable, code="summarizer_failed"):
    """A summarizer returned no usable text; *reason* says why, such as ``empty`` or ``no_gain``."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class EmbedderFailed(Unavailable, code="embedder_failed"):
    """An embedder returned no usable vectors; search by words still works."""


class IndexBehind(Unavailable, code="index_behind"):
    """An index is not up to date yet; it is being built, and the same request will be answered when it is."""

    retry_after_s: ClassVar[int] = 5

    def __init__(self) -> None:
        super().__init__("the index is being brought up to date with the log; try again in some seconds")


class LogRolledBack(Unavailable, code="log_rolled_back"):
    """The database went back to an earlier state, as after a failover or from a backup."""

    def __init__(self) -> None:
        super().__init__(
            "the log went back: events that were read or written are no longer in it; read again, and compare what you"
            " have with the log"
        )


class Unreadable(Unavailable, code="unreadable"):
    """This release cannot fold a session; its events can still be listed, exported and verified."""


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


class LogCorrupted(Unreadable, code="log_corrupted"):
    """The log contradicts itself; run `memory-ledger verify`."""
