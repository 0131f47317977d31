"""What the methods of `MemoryLedger` return, but for a context."""

from datetime import datetime
from typing import Any

import msgspec

from ledger.events import CompactionCompleted, JsonObject, KeptSet, RebuildFailure, RecordedEvent
from ledger.history.difference import Answers, Difference
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.memory_config.config import MemoryConfig
from projections.memory_config.config_check import ConfigFinding
from projections.rebuilds import RebuildStatus
from projections.stats import Spending
from projections.window import Window


class Version(int):
    """The version of a session after a write; *replayed* if an earlier request with the same key wrote it."""

    replayed: bool

    def __new__(cls, value: int, *, replayed: bool = False) -> "Version":
        """Return *value* as a version."""
        version = super().__new__(cls, value)
        version.replayed = replayed
        return version


class AddedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A stored entry with its receipt; the hash proves the event, so store it.

    *orphan* marks a tool result whose call is unknown, *known* an entry that existed before, or earlier in its batch.
    """

    entry_id: str
    version: int
    position: int
    event_id: str
    hash: str
    kind: str
    tokens: int
    tokenizer: str
    orphan: bool = False
    known: bool = False


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """A stored batch; *replayed* if an earlier request with the same key stored it."""

    session_id: str
    version: int
    entries: tuple[AddedEntry, ...]
    replayed: bool = False


class Popped(msgspec.Struct, frozen=True, kw_only=True):
    """The entry that was taken from the end of a transcript, or None, and the session's version after it."""

    entry: Entry | None
    version: int
    replayed: bool = False


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """The memory config of a session after a change, and the version of the change.

    With a *rebuild_id* the config is the one that the session will have when the rebuild is completed. *opened* tells
    that the session did not exist, or had ended or expired, and that a life with this config began.
    """

    version: int
    config: MemoryConfig
    replayed: bool = False
    opened: bool = False
    rebuild_id: str | None = None


class RebuildProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A rebuild under *config*: how far it is, or how it ended.

    While it runs, *until* is the version that it had come to when a model last wrote a summary for it, and *version*
    that of the session. *summaries* counts the texts that models wrote for it. It is *paused* while it waits for a
    worker, because one request may ask for no more. *reason* and *detail* say why it failed.
    """

    rebuild_id: str
    status: RebuildStatus
    config: MemoryConfig
    requested_version: int
    requested_at: datetime
    touched_at: datetime
    summaries: int
    until: int
    version: int
    paused: bool = False
    ended_version: int | None = None
    reason: RebuildFailure | None = None
    detail: str = ""


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """A new session, at *version*, forked from another at *at_version*, with the receipt of its first event."""

    session_id: str
    user_id: str | None
    forked_from: str
    at_version: int
    version: int
    position: int
    event_id: str
    hash: str
    replayed: bool = False


class ImportedState(msgspec.Struct, frozen=True, kw_only=True):
    """The result of importing a state; *claimed_tokens* is the total that it claimed, if that is different."""

    session_id: str
    version: int
    total_tokens: int
    claimed_tokens: int | None = None


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """The state after a PUT; *replayed* if it repeats an earlier request."""

    state: SessionState
    replayed: bool = False


class PatchedData(msgspec.Struct, frozen=True, kw_only=True):
    """The session data after a patch, and the version of the patch."""

    data: JsonObject
    version: int
    replayed: bool = False


class KeptValue(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is kept beside the window: JSON, or bytes with the *digest* of them (SHA-256, hexadecimal)."""

    space: str
    key: str
    version: int
    recorded_at: datetime
    value: Any = None
    digest: str | None = None

    @classmethod
    def of(cls, event: RecordedEvent, payload: KeptSet) -> "KeptValue":
        """Return the value that *event* stored; bytes are not compared with their digest, `verify` does that."""
        return cls(
            space=payload.space,
            key=payload.key,
            version=event.version,
            recorded_at=event.recorded_at,
            value=payload.value if payload.content is None else payload.content,
            digest=payload.digest,
        )


class KeptBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A stored batch of kept values: the session's version after it, and the version of each value, in order.

    *first_version* is that of its first event, such as an entry of the same write; it is after *version* if there was
    nothing to change.
    """

    session_id: str
    version: int
    first_version: int
    versions: tuple[int, ...]
    replayed: bool = False


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """What a session would be under another config; *difference* leads from what was recorded to this.

    Entries have the versions at which they were recorded; *answers* counts the model answers that were recorded,
    called for, or estimated.
    """

    session_id: str
    version: int
    config: MemoryConfig
    state: SessionState
    window: Window
    completed: tuple[CompactionCompleted, ...]
    failed: int
    spent: Spending
    answers: Answers
    difference: Difference
    #: What is probably wrong with the config on this session.
    findings: tuple[ConfigFinding, ...] = ()

    @property
    def estimated(self) -> bool:
        """Whether a summary is a placeholder of the estimated length."""
        return self.answers.estimated > 0
