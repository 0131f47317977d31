"""Messages in the shapes that people have: OpenAI chat, OpenAI Responses and Anthropic, as entries and back.

`message_intake` makes entries of them. `chat`, `responses` and `anthropic` make a request of a window, and
`media_parts` the parts of a message that are no text. Pure: the bytes of attachments come from the caller.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ledger.events import JsonObject
from ledger.formats.messages.anthropic import anthropic_request
from ledger.formats.messages.chat import chat_request
from ledger.formats.messages.responses import responses_request
from projections.rendering import ShownMessage

Request: TypeAlias = Callable[[Sequence[ShownMessage], Mapping[str, bytes]], JsonObject]

#: By the name of the shape: what makes a request of shown messages and the bytes of their attachments.
REQUESTS: Final[Mapping[str, Request]] = {
    "openai": chat_request,
    "responses": responses_request,
    "anthropic": anthropic_request,
}
