"""Results in pages of a number of tokens, with a cursor for the rest. Source: adapters MC-5.

A text that is longer than a page is divided: no page is without progress, and all pages together have all the text.
"""

import base64
import binascii
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from pydantic import BaseModel, Field

from ledger.errors import InvalidInput
from ledger.events.canonical import canonical_json
from ledger.llm.tokenizers import Exact

PAGE_TOKENS: Final = 8_000
_LEAST_TOKENS: Final = 200
_MOST_TOKENS: Final = 200_000
#: More characters than this for each token are only in runs of the same character.
_MOST_CHARACTERS: Final = 16
_TOKENIZER: Final = Exact()

PageTokens: TypeAlias = Annotated[
    int,
    Field(
        ge=_LEAST_TOKENS, le=_MOST_TOKENS, description="How large the answer may be; `next_cursor` leads to the rest."
    ),
]
CursorText: TypeAlias = Annotated[
    str | None, Field(max_length=1_000, description="The `next_cursor` of the page before, with the same arguments.")
]


class Part(BaseModel):
    """A text of a list: from character *offset* on; *more* if it goes on in the next page."""

    text: str
    offset: int = 0
    more: bool = False


P = TypeVar("P", bound=Part)


class Filling:
    """A page that is being filled with parts, in order; *offset* is where the text of the first one starts."""

    def __init__(self, max_tokens: int, offset: int = 0) -> None:
        self._left = max_tokens
        self._offset = offset
        self.count = 0
        self.full = False

    @property
    def offset(self) -> int:
        """Where the text of the next part starts."""
        return self._offset

    def take(self, parts: Sequence[P]) -> list[P]:
        """Return those of *parts* that fit; `count` counts the whole ones, and `full` says that there are others."""
        taken: list[P] = []
        for whole in parts:
            part = whole.model_copy(update={"text": whole.text[self._offset :], "offset": self._offset})
            tokens = _tokens(part)
            if tokens is None or tokens > self._left:
                self.full = True
                if not taken and not self.count:
                    cut = self._cut(part)
                    taken.append(cut)
                    self._offset += len(cut.text)
                return taken
            taken.append(part)
            self._left -= tokens
            self._offset = 0
            self.count += 1
        return taken

    def _cut(self, part: P) -> P:
        """Return the beginning of *part* that fits, at least one character."""
        low, high = 1, min(len(part.text), self._left * _MOST_CHARACTERS)
        while low < high:
            middle = (low + high + 1) // 2
            tokens = _tokens(part.model_copy(update={"text": part.text[:middle], "more": True}))
            low, high = (middle, high) if tokens is not None and tokens <= self._left else (low, middle - 1)
        return part.model_copy(update={"text": part.text[:low], "more": low < len(part.text)})


def _tokens(part: Part) -> int | None:
    """Return the tokens of *part* as JSON; None if it is far too long to count."""
    if len(part.text) > _MOST_TOKENS * _MOST_CHARACTERS:
        return None
    return _TOKENIZER.count_text(part.model_dump_json()).tokens


class ListCursor:
    """The place where a page starts, for a list that *bound* describes: its tool and its arguments."""

    def __init__(self, *bound: object) -> None:
        self._bound = sha256(canonical_json(list(bound))).hexdigest()[:12]

    def cursor(self, *place: int | str) -> str:
        """Return the cursor of *place*."""
        return base64.urlsafe_b64encode(canonical_json([self._bound, *place])).decode().rstrip("=")

    def read(self, cursor: str | None, *first: int | str) -> tuple[Any, ...]:
        """Return the place of *cursor*, or *first* without one; its values have the types of *first*.

        Raises:
            InvalidInput: ``bad_cursor``.
        """
        if cursor is None:
            return first
        try:
            bound, *place = msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        except (binascii.Error, ValueError, TypeError, msgspec.DecodeError):
            raise _bad_cursor() from None
        same = [type(value) for value in place] == [type(value) for value in first]
        if bound != self._bound or not same or any(isinstance(value, int) and value < 0 for value in place):
            raise _bad_cursor()
        return tuple(place)


def _bad_cursor() -> InvalidInput:
    message = "must be the next_cursor of this call with the same arguments; start without a cursor"
    return InvalidInput("bad_cursor", message, field="cursor")
