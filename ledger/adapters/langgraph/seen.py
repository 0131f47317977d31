"""Blobs and messages that this process has seen, so that none is read or serialized twice. Source: adapters LG-13."""

import pickle
from collections import OrderedDict
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

from langchain_core.messages import BaseMessage

_MOST_BYTES: Final = 64 * 1024 * 1024  # of each kind
_ITEM_BYTES: Final = 200  # beside a value
_MOST_PICKLED: Final = 16 * 1024  # bytes
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
#: A serialized value: its type and bytes.
Typed = tuple[str, bytes]
#: The class of a message, and a digest of all that it holds.
MessageMark = tuple[type, bytes]
K = TypeVar("K")
V = TypeVar("V")


class LastUsed(Generic[K, V]):
    """What was used last, as much as fits into some bytes."""

    def __init__(self) -> None:
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: K) -> V | None:
        """Return what was added under *key*; None if it is not in memory."""
        found = self._items.get(key)
        if found is None:
            return None
        self._items.move_to_end(key)
        return found[0]

    def add(self, key: K, value: V, size: int) -> None:
        """Keep a value with that many bytes, unless it alone is too large."""
        size += _ITEM_BYTES
        if size > _MOST_BYTES:
            return
        self._bytes += size - self._items.pop(key, (value, 0))[1]
        self._items[key] = value, size
        while self._bytes > _MOST_BYTES:
            self._bytes -= self._items.popitem(last=False)[1][1]


class BlobCache:
    """Blobs by name, and the digests and names of messages by what these hold.

    A name stands for the same bytes in every thread, so none is ever stale. A message may be changed in place, so it
    is known again by its content, never by its identity.
    """

    def __init__(self) -> None:
        self._blobs: LastUsed[str, Typed] = LastUsed()
        self._messages: LastUsed[MessageMark, tuple[bytes, str]] = LastUsed()
        self._pickled: LastUsed[str, tuple[type[BaseMessage], bytes]] = LastUsed()

    def add(self, name: str, typed: Typed) -> None:
        """Remember a blob; those least recently used are forgotten."""
        self._blobs.add(name, typed, len(typed[1]))

    def get(self, name: str) -> Typed | None:
        """Return a blob; None if it is not in memory."""
        return self._blobs.get(name)

    def add_message(self, mark: MessageMark, named: tuple[bytes, str]) -> None:
        """Remember the digest and the name of the blob of the message with this mark."""
        self._messages.add(mark, named, 0)

    def message(self, mark: MessageMark) -> tuple[bytes, str] | None:
        """Return the digest and the name of the blob of the message with this mark; None if they are not in memory."""
        return self._messages.get(mark)

    def loaded(self, serde: Any, name: str, typed: Typed) -> Any:
        """Return the message of a blob: a new object each time, for the caller may change it.

        One that was read before is unpickled from this process's memory, in a third of the time of *serde*.
        """
        known = self._pickled.get(name)
        if known is not None:
            kind, pickled = known
            message = kind.__new__(kind)
            message.__setstate__(pickle.loads(pickled))  # noqa: S301 - this process pickled it, from plain values
            return message
        message = serde.loads_typed(typed)
        if len(typed[1]) <= _MOST_PICKLED and _is_plain_message(message):
            state = pickle.dumps(message.__getstate__(), pickle.HIGHEST_PROTOCOL)
            self._pickled.add(name, (type(message), state), len(state))
        return message


def mark_of(message: BaseMessage) -> MessageMark | None:
    """Return what tells *message* from each other one, in a third of the time of serializing it.

    None if it holds something that cannot be pickled. Pickling, unlike JSON or a comparison, tells 1 from 1.0 and True,
    and a tuple from a list.
    """
    try:
        content = pickle.dumps((message.__dict__, message.__pydantic_extra__), pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - whatever a program's own object raises
        return None
    return type(message), sha256(content).digest()


def _is_plain_message(message: object) -> bool:
    """Tell whether pickling *message* loses nothing: a message of LangChain with nothing but values of JSON."""
    return (
        isinstance(message, BaseMessage)
        and type(message).__module__.startswith("langchain_core.messages.")
        and not message.__pydantic_private__
        and _is_plain(message.__dict__)
        and _is_plain(message.__pydantic_extra__)
    )


def _is_plain(value: object) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is dict:
        return all(type(key) is str and _is_plain(item) for key, item in value.items())  # type: ignore[attr-defined]
    return kind is list and all(map(_is_plain, value))  # type: ignore[call-overload]
