"""What the methods of `MemoryLedger` take beside plain values."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

import msgspec

from ledger.events import JsonObject
from projections.memory_config.config import MemoryConfig

#: Names of the notifications (R-CMP-11).
Notification: TypeAlias = Literal["entry:added", "compressed", "compaction:failed", "session:cleared"]


#: A memory config, loaded or in any accepted shape.
ConfigLike: TypeAlias = Mapping[str, Any] | Sequence[Any] | MemoryConfig


#: What can be compared: a version, a time (text is ISO 8601), or the outcome under a config.
Point: TypeAlias = int | datetime | str | ConfigLike


class EntryFields(TypedDict, total=False):
    """The optional fields of any entry.

    ``entry_id`` is the caller's own id, ``tokens`` its own count. ``data`` is any JSON, ``metadata`` a JSON object
    of at most 16 KiB. ``idempotency_key`` makes a retry safe.
    """

    entry_id: str
    tokens: int
    created_at: datetime | str
    data: Any
    metadata: JsonObject
    idempotency_key: str
    user_id: str | None


class Guard(TypedDict, total=False):
    """Whose session is written, and under which conditions.

    With an ``idempotency_key``, a retry gets the first answer and writes nothing. With an ``expected_version``,
    nothing is written if the session is at another version; 0 means that it must not exist.
    """

    idempotency_key: str | None
    expected_version: int | None
    user_id: str | None


class SessionWrite(TypedDict, total=False):
    """What one session gets in a write to several: entries, keys of its data, or both; *session_id* is required.

    *data* has values of whole keys of the session data, *remove_data* keys to remove. *config* is the memory config of
    a session that begins. With an *expected_version*, nothing is written to any session if this one is at another.
    """

    session_id: str
    user_id: str | None
    entries: Sequence[Mapping[str, Any]]
    data: Mapping[str, Any]
    remove_data: Sequence[str]
    expected_version: int | None
    config: "ConfigLike | None"


class When(TypedDict, total=False):
    """Whose session is read, and as of when: at a version, at a time, or now."""

    version: int | None
    at: datetime | str | None
    user_id: str | None


class Rendering(When, total=False):
    """Whose session is read, as of when, and whether that is recorded.

    *record* appends a ``context.rendered`` event with the digests of what is returned.

    With an ``idempotency_key``, a retry is not recorded again and gets the first answer. *query* is what the window
    ``recall`` and knowledge bases search for; by default, the newest user message.
    """

    record: bool
    idempotency_key: str
    query: str | None


class Precondition(msgspec.Struct, frozen=True, kw_only=True):
    """The condition of a write: the session is at *version*, or is live (*strict* without version), or *absent*.

    *event* is the beginning of the hash of the event at *version*, in hexadecimal digits, and *view* the key of a view
    that was served with messages left out.
    """

    strict: bool = False
    version: int | None = None
    event: str = ""
    view: str | None = None
    absent: bool = False
