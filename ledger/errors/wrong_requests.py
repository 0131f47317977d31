"""The root of all errors, and those of a request that is wrong, not allowed, or asks for what does not exist."""


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


class SummaryMissing(NotFound, code="summary_missing"):
    """A replay needs a summary that no model has written yet; *request_hash* says which."""

    def __init__(self, request_hash: str) -> None:
        super().__init__("no model has written this summary yet; set `on_miss` to call a model, or to estimate")
        self.request_hash = request_hash
