"""Bytes that a message carries as base64, such as an image: taken out of it, and put back. Source: adapters LF-5."""

import re
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

#: The space of the values that hold attachments; the key is the SHA-256 of the bytes, in hexadecimal.
SPACE: Final = "attachments"
_REFERENCE: Final = re.compile(r"attachment:([0-9a-f]{64})\Z")
#: The beginning of a URL with base64, and that.
DATA_URL: Final = re.compile(r"(data:[^,]{0,200};base64,)(.+)\Z", re.DOTALL)
_KEYS: Final = frozenset({"data", "file_data", "result"})  # whose text is base64 without a URL around it
_LEAST: Final = 512  # characters of base64: less stays where it is


def taken_out(value: Any, found: dict[str, bytes], *, key: str = "") -> Any:
    """Return *value* with a reference in the place of each long base64 text, whose bytes go into *found* by digest."""
    if isinstance(value, dict):
        return {name: taken_out(item, found, key=name) for name, item in value.items()}
    if isinstance(value, list):
        return [taken_out(item, found) for item in value]
    if not isinstance(value, str) or len(value) < _LEAST:
        return value
    url = DATA_URL.match(value)
    begin, text = (url[1], url[2]) if url else ("", value if key in _KEYS else "")
    content = decoded(text)
    if not content:
        return value
    digest = sha256(content).hexdigest()
    found[digest] = content
    return f"{begin}attachment:{digest}"


def put_back(value: Any, attachments: Mapping[str, bytes]) -> Any:
    """Return *value* with the bytes in *attachments* as base64 in the place of their references.

    Raises:
        KeyError: the bytes of a reference are not in *attachments*.
    """
    if isinstance(value, dict):
        return {name: put_back(item, attachments) for name, item in value.items()}
    if isinstance(value, list):
        return [put_back(item, attachments) for item in value]
    digest = _digest(value)
    if digest is None:
        return value
    begin = value[: value.index("attachment:")]
    return begin + b64encode(attachments[digest]).decode()


def references(value: Any) -> Iterator[str]:
    """Yield the digest of each attachment that *value* refers to."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif (digest := _digest(value)) is not None:
        yield digest


def _digest(value: Any) -> str | None:
    if not isinstance(value, str) or len(value) > 300:
        return None
    url = DATA_URL.match(value)
    found = _REFERENCE.match(url[2] if url else value)
    return found[1] if found else None


def decoded(text: str) -> bytes:
    """Return the bytes of *text* if it is base64 as an encoder writes it; none otherwise."""
    try:
        content = b64decode(text, validate=True)
    except (Error, ValueError):
        return b""
    return content if b64encode(content).decode() == text else b""
