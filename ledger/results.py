"""What the methods of `MemoryLedger` take and return."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

import msgspec

from ledger.events import CompactionCompleted, JsonObject, KeptSet, RebuildFailure, RecordedEvent
from ledger.formats.messages.anthropic import anthropic_request
from ledger.formats.messages.chat import chat_request
from ledger.formats.messages.responses import responses_request
from ledger.history.difference import Answers, Difference
from ledger.session.request_parts import counted_by_text
from ledger.session.state import SessionState
from projections import rendering
from projections.entries import Entry
from projections.formatters import FORMATTERS, Formatter
from projections.memory_config.budget import Budget, budget_of
from projections.memory_config.config import MemoryConfig
from projections.memory_config.config_check import ConfigFinding
from projections.rebuilds import RebuildStatus
from projections.rendering import ShownMessage, ShownText
from projections.stats import Spending
from projections.summaries import Summary
from projections.window import RecalledEntry, Window

#: Names of the notifications (R-CMP-11).
Notification: TypeAlias = Literal["entry:added", "compressed", "compaction:failed", "session:cleared"]


_NO_ATTACHMENTS: Mapping[str, bytes] = {}

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


class Version(int):
    """The version of a session after a write; *replayed* if an earlier request with the same key wrote it."""

    replayed: bool

    def __new__(cls, value: int, *, replayed: bool = False) -> "Version":
        """Return *value* as a version."""
        version = super().__new__(cls, value)
        version.replayed = replayed
        return version


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


class RecordedContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where a context was recorded, with the hash of the receipt; the hash proves the event, so store it."""

    version: int
    position: int
    event_id: str
    hash: str
    replayed: bool = False


class Context(msgspec.Struct, frozen=True):
    """What a model is shown at one version, as a structure and in the forms that models accept."""

    session_id: str
    version: int
    window: Window
    config: MemoryConfig
    #: Versions of the entries of an unfinished interaction, for the budget.
    current_turn: frozenset[int] = frozenset()
    #: Set if the caller asked to record it.
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
        """Tokens of the context, with its knowledge."""
        return self.window.tokens + self.window.knowledge_tokens

    @property
    def counted_by_text(self) -> tuple[int, ...]:
        """The versions of shown entries that an older release counted by their text alone: too low."""
        # R-TOK-8
        return tuple(entry.version for entry in self.entries if counted_by_text(entry))

    @property
    def budget(self) -> Budget:
        """The tokens of the context by part, the limit, and the excess."""
        return budget_of(self.window, self.config, self.current_turn)

    @property
    def recalled(self) -> tuple[RecalledEntry, ...]:
        """The entries that a search brought back, in shown order."""
        why = dict(self.window.why)
        return tuple(RecalledEntry(version, score, why.get(version)) for version, score in self.window.recalled)

    @property
    def text(self) -> str:
        """The context as plain text under headers; empty if there is nothing to show."""
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def pieces(self) -> list[ShownText]:
        """The text in pieces, to be joined with line feeds, each with its entry or summary."""
        return rendering.context_pieces(self.window, conversation_first=self._newest_first)

    @property
    def messages(self) -> list[JsonObject]:
        """The context as OpenAI chat messages, oldest first: the newest user message is the question."""
        return [shown.message for shown in self.shown_messages]

    @property
    def shown_messages(self) -> list[ShownMessage]:
        """The chat messages, each with its entries or summary."""
        return rendering.shown_messages(self._chat)

    def as_openai(self, attachments: Mapping[str, bytes] = _NO_ATTACHMENTS) -> JsonObject:
        """Return the arguments of an OpenAI chat completion: ``messages``.

        *attachments*, from `get_attachments`, are put back as images and files; without one its part is only named.
        """
        return chat_request(self.shown_messages, attachments)

    def as_responses(self, attachments: Mapping[str, bytes] = _NO_ATTACHMENTS) -> JsonObject:
        """Return the arguments of an OpenAI response: ``input``, and ``instructions`` if there is a system prompt."""
        return responses_request(self.shown_messages, attachments)

    def as_anthropic(self, attachments: Mapping[str, bytes] = _NO_ATTACHMENTS) -> JsonObject:
        """Return the arguments of an Anthropic message: ``messages``, and ``system`` if there is a system prompt.

        The roles alternate, and the first is the user's.
        """
        return anthropic_request(self.shown_messages, attachments)

    def formatted(self, formatter: Formatter | None = None) -> list[JsonObject]:
        """Return the messages that *formatter*, or else ``formatted_by`` of the config, makes, oldest first."""
        return (formatter or FORMATTERS[self.config.formatted_by]).format_messages(self._chat.items)

    @property
    def _newest_first(self) -> bool:
        return getattr(self.config.window, "order", None) == "newest_first"

    @property
    def _chat(self) -> Window:
        return self.window.oldest_first() if self._newest_first else self.window

    @property
    def rolling(self) -> JsonObject:
        """The context as interactions and summaries with ranges."""
        return rendering.rolling_shape(self.window)


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


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """The state after a PUT; *replayed* if it repeats an earlier request."""

    state: SessionState
    replayed: bool = False


class PatchedData(msgspec.Struct, frozen=True, kw_only=True):
    """The session data after a patch, and the version of the patch."""

    data: JsonObject
    version: int
    replayed: bool = False


class Popped(msgspec.Struct, frozen=True, kw_only=True):
    """The entry that was taken from the end of a transcript, or None, and the session's version after it."""

    entry: Entry | None
    version: int
    replayed: bool = False


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
