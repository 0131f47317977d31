"""Values of an import in a temporary file, so that what is held of a file of any size are places and keys."""

import pickle
from collections.abc import Iterable, Iterator
from io import SEEK_END
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any, Final, Self, TypeVar

T = TypeVar("T")

#: Up to here there is no file.
_IN_MEMORY_BYTES: Final = 1024 * 1024


class Spool:
    """Values that can be read in any order. The file has no name, and is gone when the context ends."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY_BYTES)

    def __enter__(self) -> Self:
        """Return the spool itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the values."""
        self._file.close()

    def put(self, value: object) -> int:
        """Store *value*, which can be pickled, and return its place: a number larger than that of all before it."""
        self._file.seek(0, SEEK_END)
        place = self._file.tell()
        pickle.dump(value, self._file)
        return place

    def get(self, place: int) -> Any:
        """Return a copy of the value at *place*."""
        self._file.seek(place)
        return pickle.load(self._file)  # noqa: S301 - from `put`


def in_order(found: Iterable[tuple[Any, T]]) -> Iterator[T]:
    """Yield the values of *found*, each of which has its key before it, by their keys; of equal ones the first first.

    All of *found* is read before the first value is yielded. Only keys are held.
    """
    with Spool() as spool:
        places = sorted((key, spool.put(value)) for key, value in found)
        for _, place in places:
            yield spool.get(place)
