"""An immutable list whose append costs the same at any length.

Every state that a fold returned stays valid, so a fold cannot append in place; and copying a tuple of ten thousand
entries for each message would be too slow.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar, overload

T = TypeVar("T")

_CHUNK = 64


class PersistentList(Generic[T]):
    """A sequence of full chunks and a short tail; equal content means equal lists."""

    __slots__ = ("_chunks", "_length", "_tail")

    def __init__(self, items: Iterable[T] = ()) -> None:
        flat = tuple(items)
        full = len(flat) - len(flat) % _CHUNK
        self._chunks: tuple[tuple[T, ...], ...] = tuple(flat[at : at + _CHUNK] for at in range(0, full, _CHUNK))
        self._tail: tuple[T, ...] = flat[full:]
        self._length = len(flat)

    @classmethod
    def _of(cls, chunks: tuple[tuple[T, ...], ...], tail: tuple[T, ...], length: int) -> "PersistentList[T]":
        copy = cls.__new__(cls)
        copy._chunks, copy._tail, copy._length = chunks, tail, length
        return copy

    @property
    def last(self) -> T:
        """The newest item.

        Raises:
            IndexError: the list is empty.
        """
        return self._tail[-1] if self._tail else self._chunks[-1][-1]

    def append(self, item: T) -> "PersistentList[T]":
        """Return a list with *item* at its end; copies at most one chunk and the list of chunks."""
        tail = (*self._tail, item)
        if len(tail) < _CHUNK:
            return self._of(self._chunks, tail, self._length + 1)
        return self._of((*self._chunks, tail), (), self._length + 1)

    def replace(self, index: int, item: T) -> "PersistentList[T]":
        """Return a list with *item* at *index*, from 0."""
        chunk, offset = divmod(index, _CHUNK)
        if chunk == len(self._chunks):
            tail = (*self._tail[:offset], item, *self._tail[offset + 1 :])
            return self._of(self._chunks, tail, self._length)
        old = self._chunks[chunk]
        new = (*old[:offset], item, *old[offset + 1 :])
        return self._of((*self._chunks[:chunk], new, *self._chunks[chunk + 1 :]), self._tail, self._length)

    def bisect(self, key: Callable[[T], int], wanted: int) -> int:
        """Return the index of the first item whose *key*, ascending over the list, is at least *wanted*."""
        return bisect_left(self, wanted, key=key)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._length))]
        at = index + self._length if index < 0 else index
        if at < 0:
            raise IndexError(index)
        chunk, offset = divmod(at, _CHUNK)
        return self._chunks[chunk][offset] if chunk < len(self._chunks) else self._tail[at - chunk * _CHUNK]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        for chunk in self._chunks:
            yield from chunk
        yield from self._tail

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PersistentList):
            return NotImplemented
        return self._tail == other._tail and self._chunks == other._chunks

    def __hash__(self) -> int:
        return hash((self._chunks, self._tail))

    def __repr__(self) -> str:
        return f"PersistentList({list(self)!r})"
