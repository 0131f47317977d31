"""Errors of a request that the state does not allow, or that another writer was before."""

from ledger.errors.wrong_requests import LedgerError


class Conflict(LedgerError, code="conflict"):
    """The state is not the one that the request expects."""


class VersionConflict(Conflict, code="version_conflict"):
    """Another writer appended first; or, *expired*, the session's life ended by the clock of the store."""

    def __init__(self, *, current: int, expected: int, expired: bool = False) -> None:
        found = "the session has expired" if expired else f"stream is at {current}, expected {expected}"
        super().__init__(f"{found}; read and decide again")
        self.current, self.expected, self.expired = current, expected, expired


class PreconditionFailed(Conflict, code="precondition_failed"):
    """The session is not at the version that ``If-Match`` or ``If-None-Match`` names."""


class SeveralSessions(Conflict, code="several_sessions"):
    """Several sessions match the given names; give the user or the namespace too."""

    def __init__(self) -> None:
        super().__init__("several sessions have this id; give `user_id` and `namespace` too")


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
