"""What `MemoryLedger` takes and gives back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

import msgspec

from ledger.events import CompactionCompleted, JsonObject
from ledger.history.difference import Difference
from ledger.prices import Spending
from ledger.session.state import SessionState
from ledger.what_if.run import Answers
from projections import rendering
from projections.config import MemoryConfig
from projections.entries import Entry
from projections.formatters import FORMATTERS, Formatter
from projections.rendering import ShownMessage, ShownText
from projections.summaries import Summary
from projections.window import Window

#: Names of the notifications (R-CMP-11).
Notification: TypeAlias = Literal["entry:added", "compressed", "session:cleared"]


#: A memory config, loaded or in any accepted shape.
ConfigLike: TypeAlias = Mapping[str, Any] | Sequence[Any] | MemoryConfig
#: What can be compared: a version, a moment (text is ISO 8601), or what would have been under a config.
Point: TypeAlias = int | datetime | str | ConfigLike


class EntryFields(TypedDict, total=False):
    """What may be said of any entry beside its text.

    ``entry_id`` is the caller's own id, ``tokens`` its own count (R-TOK-3); ``data`` is JSON kept whole,
    ``metadata`` a JSON object of at most 16 KiB; ``idempotency_key`` makes a retry safe (trust R-6).
    """

    entry_id: str
    tokens: int
    created_at: datetime | str
    data: Any
    metadata: JsonObject
    idempotency_key: str
    user_id: str | None


class Version(int):
    """The version of a session after a write; *replayed* if an earlier request with the same key had made it."""

    replayed: bool

    def __new__(cls, value: int, *, replayed: bool = False) -> "Version":
        """Return *value* as a version."""
        version = super().__new__(cls, value)
        version.replayed = replayed
        return version


class Configured(msgspec.Struct, frozen=True, kw_only=True):
    """A session's memory config after a change, and the version of the change."""

    version: int
    config: MemoryConfig
    replayed: bool = False


class Guard(TypedDict, total=False):
    """Whose session, and under what conditions it is written to.

    With an ``idempotency_key`` a retry gets the first answer and writes nothing (trust R-6), with an
    ``expected_version`` nothing is written if the session is at another, 0 being none (trust R-5).
    """

    idempotency_key: str | None
    expected_version: int | None
    user_id: str | None


class When(TypedDict, total=False):
    """Whose session, and as of when: at a version, at a moment, or now."""

    version: int | None
    at: datetime | str | None
    user_id: str | None


class Rendering(When, total=False):
    """Beside `When`: *record* appends a ``context.rendered`` event with the digests of what is returned.

    With an ``idempotency_key`` a retry is not recorded again, and gets what the first attempt was given. *query* is
    what the window ``recall`` and knowledge bases search for: the newest user message unless given.
    """

    record: bool
    idempotency_key: str
    query: str | None


class AddedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that is in the log, with its receipt: keep the hash, it proves the event.

    *orphan* flags a tool result whose call is unknown; *known* an entry that was there before.
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
    """A batch that is in the log; *replayed* if an earlier request with the same key had put it there."""

    session_id: str
    version: int
    entries: tuple[AddedEntry, ...]
    replayed: bool = False


class Forked(msgspec.Struct, frozen=True, kw_only=True):
    """A session that goes on, at *version*, from another one at *at_version*, with the receipt of its first event."""

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
    """What an imported state came to; *claimed_tokens* is the total it came with, if that is another."""

    session_id: str
    version: int
    total_tokens: int
    claimed_tokens: int | None = None


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """What a session would be under another config; *difference* is from what was recorded to this.

    Entries have the versions they were recorded at; *answers* says how many answers of models were recorded,
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

    @property
    def estimated(self) -> bool:
        """Whether a summary is a placeholder of the length a model's would have."""
        return self.answers.estimated > 0


class RecordedContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where it stands what a model was handed, and the receipt's hash: keep it, it proves the event."""

    version: int
    position: int
    event_id: str
    hash: str
    replayed: bool = False


class Context(msgspec.Struct, frozen=True):
    """What a model is shown at one version, as a structure and in the forms models take."""

    session_id: str
    version: int
    window: Window
    config: MemoryConfig
    #: Set if it was asked to be recorded.
    recorded: RecordedContext | None = None

    @property
    def summaries(self) -> tuple[Summary, ...]:
        """The summaries, in shown order."""
        return self.window.summaries

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, in shown order."""
        return self.window.entries

    @property
    def tokens(self) -> int:
        """Tokens of what is shown, knowledge included."""
        return self.window.tokens + self.window.knowledge_tokens

    @property
    def text(self) -> str:
        """As plain text under headers; empty if there is nothing."""
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def pieces(self) -> list[ShownText]:
        """The text in pieces, which line feeds join, each with the entry or summary it came from."""
        newest_first = getattr(self.config.window, "order", None) == "newest_first"
        return rendering.context_pieces(self.window, conversation_first=newest_first)

    @property
    def messages(self) -> list[JsonObject]:
        """As OpenAI chat messages."""
        return [shown.message for shown in self.shown_messages]

    @property
    def shown_messages(self) -> list[ShownMessage]:
        """The chat messages, each with the entries or the summary it came from."""
        role = "system" if self.config.profile == "memory_manager" else "user"
        return rendering.shown_messages(self.window, summary_role=role)

    def formatted(self, formatter: Formatter | None = None) -> list[JsonObject]:
        """As *formatter* makes messages of it, or else the one its config names."""
        return (formatter or FORMATTERS[self.config.formatter]).format_messages(self.window.items)

    @property
    def rolling(self) -> JsonObject:
        """As interactions and ranged summaries."""
        return rendering.rolling_shape(self.window)


class Precondition(msgspec.Struct, frozen=True, kw_only=True):
    """What a write demands of a session: to be at *version*, or just live (*strict* without version), or *absent*.

    *view* is the key of a view that was served with messages left out (http W-52, W-55).
    """

    strict: bool = False
    version: int | None = None
    view: str | None = None
    absent: bool = False


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a PUT led to: the state after it; *replayed* if it repeats a request that was answered before."""

    state: SessionState
    replayed: bool = False


class PatchedData(msgspec.Struct, frozen=True, kw_only=True):
    """A session's own JSON object after a patch, and the version the patch made."""

    data: JsonObject
    version: int
    replayed: bool = False
