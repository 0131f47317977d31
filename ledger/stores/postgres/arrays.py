"""Postgres arrays in binary form, built from ready-made element bytes.

An append sends some twenty parallel arrays. The driver's own list dumper inspects the type of each element in
Python, which takes longer than the append itself; here each element is already in the bytes that are sent.
"""

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

_HEADER = struct.Struct("!iiIii")
HEADER_BYTES: Final = _HEADER.size
_EMPTY = struct.Struct("!iiI")
_NULL = b"\xff\xff\xff\xff"

int2: Final = struct.Struct("!h").pack
int4: Final = struct.Struct("!i").pack
int8: Final = struct.Struct("!q").pack
TRUE: Final = b"\x01"
FALSE: Final = b"\x00"

#: PostgreSQL counts microseconds from 2000, events from 1970.
POSTGRES_EPOCH_US: Final = 946_684_800_000_000


def timestamptz(microseconds: int) -> bytes:
    """Return the binary form of a moment in microseconds since 1970."""
    return int8(microseconds - POSTGRES_EPOCH_US)


class ArrayType(msgspec.Struct, frozen=True):
    """An element type, by its oid, and the *size* of its elements; 0 if it varies."""

    element_oid: int
    size: int = 0

    def dump(self, elements: Sequence[bytes]) -> bytes:
        """Return a one-dimensional array of *elements*, each in its type's binary form."""
        if not elements:
            return _EMPTY.pack(0, 0, self.element_oid)
        header = _HEADER.pack(1, 0, self.element_oid, len(elements), 1)
        if self.size:
            length = int4(self.size)
            return b"".join((header, length, length.join(elements)))
        parts = [header]
        for element in elements:
            parts.append(int4(len(element)))
            parts.append(element)
        return b"".join(parts)

    def dump_sparse(self, elements: Sequence[bytes | None]) -> bytes | None:
        """Return the array, or null if all its elements are null."""
        missing = elements.count(None)
        if missing == len(elements):
            return None
        parts = [_HEADER.pack(1, missing > 0, self.element_oid, len(elements), 1)]
        for element in elements:
            if element is None:
                parts.append(_NULL)
            else:
                parts.append(int4(len(element)))
                parts.append(element)
        return b"".join(parts)


UUID: Final = ArrayType(2950, 16)
TEXT: Final = ArrayType(25)
BYTEA: Final = ArrayType(17)
BOOL: Final = ArrayType(16, 1)
INT2: Final = ArrayType(21, 2)
INT4: Final = ArrayType(23, 4)
INT8: Final = ArrayType(20, 8)
TIMESTAMPTZ: Final = ArrayType(1184, 8)
