"""Ascending versions in a few bytes: a state has one for each entry, and a snapshot stores them all."""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final
from zlib import compress, decompress

import msgspec

_CHUNK: Final = 256
_SIZES: Final = (("B", 1 << 8), ("H", 1 << 16), ("I", 1 << 32), ("Q", 1 << 64))
_HEAD: Final = struct.Struct("<cQ")


def pack(versions: Sequence[int]) -> bytes:
    """Return ascending *versions*, at least one, as bytes: the first, and the compressed differences."""
    steps = [after - before for before, after in pairwise(versions)]
    code = next(code for code, limit in _SIZES if max(steps, default=0) < limit)
    return _HEAD.pack(code.encode(), versions[0]) + compress(struct.pack(f"<{len(steps)}{code}", *steps), 1)


@lru_cache(maxsize=64)
def unpack(packed: bytes) -> tuple[int, ...]:
    """Return the versions in *packed*."""
    code, first = _HEAD.unpack_from(packed)
    size, raw = struct.calcsize(b"<" + code), decompress(packed[_HEAD.size :])
    return tuple(accumulate(struct.unpack(f"<{len(raw) // size}{code.decode()}", raw), initial=first))


class Versions(msgspec.Struct, frozen=True, array_like=True):
    """An immutable ascending list: full chunks, packed, and a short tail. The first *skip* are left out."""

    chunks: tuple[bytes, ...] = ()
    tail: tuple[int, ...] = ()
    skip: int = 0

    @classmethod
    def of(cls, versions: Iterable[int]) -> "Versions":
        """Return the list of ascending *versions*."""
        flat = tuple(versions)
        full = len(flat) - len(flat) % _CHUNK
        return cls(tuple(pack(flat[at : at + _CHUNK]) for at in range(0, full, _CHUNK)), flat[full:])

    @property
    def last(self) -> int:
        """The newest version.

        Raises:
            IndexError: the list is empty.
        """
        return self.tail[-1] if self.tail else self[len(self) - 1]

    def append(self, version: int) -> "Versions":
        """Return a list with *version* at its end."""
        if len(self.tail) + 1 < _CHUNK:
            return Versions(self.chunks, (*self.tail, version), self.skip)
        return self.extend((version,))

    def extend(self, versions: Iterable[int]) -> "Versions":
        """Return a list with ascending *versions* at its end, as if each had been appended."""
        flat = (*self.tail, *versions)
        full = len(flat) - len(flat) % _CHUNK
        if not full:
            return Versions(self.chunks, flat, self.skip)
        packed = [pack(flat[at : at + _CHUNK]) for at in range(0, full, _CHUNK)]
        return Versions((*self.chunks, *packed), flat[full:], self.skip)

    def without_first(self, count: int) -> "Versions":
        """Return the list without its first *count* versions."""
        chunks, left = divmod(self.skip + count, _CHUNK)
        if chunks >= len(self.chunks):
            return Versions((), self.tail[self.skip + count - len(self.chunks) * _CHUNK :])
        return Versions(self.chunks[chunks:], self.tail, left)

    def without_last(self, count: int) -> "Versions":
        """Return the list without its last *count* versions, of which there are more."""
        if count <= len(self.tail):
            return Versions(self.chunks, self.tail[: len(self.tail) - count], self.skip)
        flat = (*unpack(self.chunks[-1]), *self.tail)
        return Versions(self.chunks[:-1], flat[:-count], self.skip)

    def count_to(self, version: int) -> int:
        """Return how many versions are at most *version*."""
        return bisect_right(range(len(self)), version, key=self.__getitem__)

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise IndexError(index)
        chunk, place = divmod(self.skip + index, _CHUNK)
        return unpack(self.chunks[chunk])[place] if chunk < len(self.chunks) else self.tail[place]

    def __bool__(self) -> bool:
        return bool(self.tail or self.chunks)

    def __len__(self) -> int:
        return len(self.chunks) * _CHUNK + len(self.tail) - self.skip
