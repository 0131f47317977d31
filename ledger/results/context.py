"""What a model is shown: the window of a session, in the forms that models accept."""

from collections.abc import Mapping

import msgspec

from ledger.events import JsonObject
from ledger.formats.messages.anthropic import anthropic_request
from ledger.formats.messages.chat import chat_request
from ledger.formats.messages.responses import responses_request
from ledger.session.request_parts import counted_by_text
from projections import rendering
from projections.entries import Entry
from projections.formatters import FORMATTERS, Formatter
from projections.memory_config.budget import Budget, budget_of
from projections.memory_config.config import MemoryConfig
from projections.rendering import ShownMessage, ShownText
from projections.summaries import Summary
from projections.window import RecalledEntry, Window

_NO_ATTACHMENTS: Mapping[str, bytes] = {}


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
