"""Long texts and bytes that the data of an entry carries, such as an image in base64: taken out, and put back.

A reference takes their place: ``attachment:`` for base64 or ``attachment-text:`` for other text, and the digests of
the parts that the bytes are stored in, and after ``#`` the measure of the bytes. Source: adapters LF-5, R-TOK-8.
"""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events.limits import BESIDE_BYTES
from ledger.session.key_value_drafts import MOST_BYTES
from ledger.session.media import MEASURE, measured

#: The space of the values that hold attachments; the key is the SHA-256 of the bytes, in hexadecimal.
SPACE: Final = "attachments"
_REFERENCE: Final = re.compile(
    rf"(attachment|attachment-text):([0-9a-f]{{64}}(?:,[0-9a-f]{{64}})*)(?:#({MEASURE.pattern}))?\Z"
)
#: The beginning of a URL with base64, and that.
DATA_URL: Final = re.compile(r"(data:[^,]{0,200};base64,)(.+)\Z", re.DOTALL)
_KEYS: Final = frozenset({"data", "file_data", "result"})  # whose text is base64 without a URL around it
#: Whose text is what the entry itself says: a person or a tool may have written anything there, also what looks like a
#: reference.
OWN_TEXT: Final = frozenset({"text", "content", "output", "arguments"})
_LEAST: Final = 512  # characters of base64: less stays where it is
_LONG: Final = 64 * 1024  # characters of any text of an entry that is too large
_LONGEST_REFERENCE: Final = 4_096


def taken_out(value: Any, found: dict[str, bytes]) -> Any:
    """Return *value* with a reference in the place of each long base64 text, whose bytes go into *found* by digest."""

    def reference(text: str, key: str) -> str:
        if len(text) < _LEAST or key in OWN_TEXT:
            return text
        url = DATA_URL.match(text)
        begin, rest = (url[1], url[2]) if url else ("", text if key in _KEYS else "")
        content = decoded(rest)
        return f"{begin}attachment:{_stored(content, found)}" if content else text

    return _each_text(value, reference)


def long_texts_taken_out(value: Any, found: dict[str, bytes]) -> Any:
    """Return *value* with a reference in the place of each text of 64 KiB or more, base64 or not, of any key."""

    def reference(text: str, _: str) -> str:
        if len(text) < _LONG:
            return text
        url = DATA_URL.match(text)
        begin, rest = (url[1], url[2]) if url else ("", text)
        if content := decoded(rest):
            return f"{begin}attachment:{_stored(content, found)}"
        return f"attachment-text:{_stored(text.encode(), found)}"

    return _each_text(value, reference)


def put_back(value: Any, attachments: Mapping[str, bytes], *, literal: Collection[str] = ()) -> Any:
    """Return *value* with the texts whose bytes are in *attachments* in the place of their references.

    A text under a key of *literal* stays as it is, as does one that only looks like a reference to base64.

    Raises:
        KeyError: the bytes of a reference are not in *attachments*.
    """

    def whole(text: str, key: str) -> str:
        begin, kind, digests = _reference(text)
        is_sure = bool(begin) or key in _KEYS or kind == "attachment-text"
        if not digests or key in literal or not (is_sure or attachments.keys() >= set(digests)):
            return text
        content = b"".join(attachments[digest] for digest in digests)
        return begin + (b64encode(content) if kind == "attachment" else content).decode()

    return _each_text(value, whole)


def references(value: Any) -> Iterator[str]:
    """Yield the digest of each part of an attachment that *value* refers to."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, str):
        yield from _reference(value)[2]


def measure_of(text: str) -> str | None:
    """Return the measure of the bytes that *text* refers to; None if it is no reference, or one without a measure."""
    if "attachment" not in text[:256] or len(text) > _LONGEST_REFERENCE:
        return None
    url = DATA_URL.match(text)
    found = _REFERENCE.match(url[2] if url else text)
    return found[3] if found else None


def parts_of(content: bytes) -> list[bytes]:
    """Return *content* in parts, each of which fits into a stored value."""
    return [content[at : at + MOST_BYTES] for at in range(0, len(content), MOST_BYTES)]


def check_beside(size: int, *, field: str) -> None:
    """Refuse a write that stores *size* bytes beside its entries if these are too many.

    Raises:
        InvalidInput: ``too_large``.
    """
    if size > BESIDE_BYTES:
        most = f"must have at most {BESIDE_BYTES // 2**20} MiB of images, files and long texts in one write"
        message = f"{most}; write fewer items at once, or put a file elsewhere and its address here"
        raise InvalidInput("too_large", message, field=field, limit=BESIDE_BYTES)


def decoded(text: str) -> bytes:
    """Return the bytes of *text* if it is base64 as an encoder writes it; none otherwise."""
    try:
        content = b64decode(text, validate=True)
    except (Error, ValueError):
        return b""
    return content if b64encode(content).decode() == text else b""


def _each_text(value: Any, change: Callable[[str, str], str], key: str = "") -> Any:
    """Return *value* with each text in it as *change* returns it, which gets the text and the key that it is under."""
    if isinstance(value, dict):
        return {name: _each_text(item, change, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_each_text(item, change) for item in value]
    return change(value, key) if isinstance(value, str) else value


def _stored(content: bytes, found: dict[str, bytes]) -> str:
    digests = []
    for part in parts_of(content):
        digests.append(sha256(part).hexdigest())
        found[digests[-1]] = part
    return f"{','.join(digests)}#{measured(content)}"


def _reference(text: str) -> tuple[str, str, list[str]]:
    """Return what is before a reference, its kind and its digests; none if *text* is no reference."""
    if len(text) <= _LONGEST_REFERENCE:
        url = DATA_URL.match(text)
        if found := _REFERENCE.match(url[2] if url else text):
            return url[1] if url else "", found[1], found[2].split(",")
    return "", "", []
