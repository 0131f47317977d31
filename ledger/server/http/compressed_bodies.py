"""Compressed bodies: never more of them is unpacked than a body may have. Source: trust S-17, N-1."""

import zlib
from typing import Any, Final

from ledger.errors import InvalidInput

_CHUNK: Final = 64 * 1024
_NONE: Final = frozenset({"", "identity"})
_WINDOWS: Final = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


def is_compressed(encoding: str) -> bool:
    """Tell whether a body with the content encoding *encoding* has to be unpacked."""
    return encoding.strip().lower() not in _NONE


def unpacked_size(body: bytes, encoding: str, most_bytes: int) -> int:
    """Return the size of *body* when it is unpacked, a chunk at a time; a little over *most_bytes* if it is larger.

    What cannot be unpacked has the size of what could be.
    """
    window = _WINDOWS.get(encoding.strip().lower())
    if window is None:
        return len(body)
    unpacking, size, rest = zlib.decompressobj(window), 0, body
    try:
        while rest and size <= most_bytes and not unpacking.eof:
            size += len(unpacking.decompress(rest, _CHUNK))
            rest = unpacking.unconsumed_tail
    except zlib.error:
        pass  # refused where the body is read
    return max(size, len(body))


def unpacked(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """Return *body* unpacked, never more than *most_bytes* of it.

    Raises:
        InvalidInput: ``unsupported_encoding``, ``too_large``, or it is not one whole stream.
    """
    if not is_compressed(encoding):
        return body
    encoding = encoding.strip().lower()
    if encoding not in _WINDOWS:
        raise InvalidInput("unsupported_encoding", "send gzip, deflate or no encoding", field="content-encoding")
    unpacking: Any = zlib.decompressobj(_WINDOWS[encoding])
    try:
        found: bytes = unpacking.decompress(body, most_bytes + 1)
    except zlib.error:
        raise InvalidInput("bad_request", f"the body is not {encoding}", field="content-encoding") from None
    if len(found) > most_bytes:
        message = f"the unpacked body must have at most {most_bytes} bytes; let the exporter send smaller batches"
        raise InvalidInput("too_large", message, limit=most_bytes)
    if not unpacking.eof or unpacking.unused_data:
        raise InvalidInput("bad_request", f"the body is not one whole {encoding} stream", field="content-encoding")
    return found
