"""Requests and conversations of the Anthropic Messages API. Source: adapters IN-11."""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.formats.importers import openai_chat
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import ConversationReader, Importer

FORMAT: Final = "anthropic"


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a message with blocks, or a conversation of such, or with a system prompt."""
    return openai_chat.is_conversation(found[0].value) and openai_chat.is_anthropic(found[0].value)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the conversations; a system prompt is the first message of its conversation."""
    return openai_chat.read(found, name, FORMAT)


IMPORTER: Final = Importer(FORMAT, detects, read)
