"""Blobs and messages that this process has seen, so that none is read or serialized twice. Source: adapters LG-13."""

import json
import marshal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import msgspec
from langchain_core.messages import BaseMessage

from ledger.adapters.langgraph.memory_cache import MemoryCache

#: What an item of the cache is, in its key.
_BLOB: Final = "blob"
_RUN: Final = "run"
_MESSAGES: Final = "messages"
_MOST_COPIED: Final = 16 * 1024  # bytes
_OF_MESSAGES: Final = "langchain_core.messages."
_WITHOUT_REFERENCES: Final = 2  # the version of marshal's format in which equal content has equal bytes
#: A serialized value: its type and bytes.
Typed = tuple[str, bytes]
#: The classes of messages, and a digest of all that they hold.
MessageMark = tuple[tuple[type, ...], bytes]
#: Messages to be copied: their classes, and what they hold.
LoadedMessages = tuple[tuple[type[BaseMessage], ...], bytes]


class MessageRun(msgspec.Struct, frozen=True):
    """Some messages in a row: the digest and the name of their blob, the names of each of theirs, and these blobs."""

    digest: bytes
    name: str
    names: list[str]
    blobs: dict[str, Typed]


class KnownBlobs:
    """Blobs by name, and those of messages in a row by what these hold.

    A name stands for the same bytes in every thread, so none is ever stale. A message may be changed in place, so it
    is known again by its content, never by its identity.
    """

    def __init__(self, cache: MemoryCache) -> None:
        self._cache = cache

    def add_all(self, blobs: Mapping[str, Typed]) -> None:
        """Remember blobs by name."""
        for name, typed in blobs.items():
            self._cache.add((_BLOB, name), typed, len(typed[1]))

    def get(self, name: str) -> Typed | None:
        """Return a blob; None if it is not in memory."""
        found: Typed | None = self._cache.get((_BLOB, name))
        return found

    def add_run(self, mark: MessageMark, run: MessageRun) -> None:
        """Remember the blobs of the messages with this mark."""
        self._cache.add((_RUN, mark), run, sum(len(content) for _, content in run.blobs.values()))

    def run(self, mark: MessageMark) -> MessageRun | None:
        """Return the blobs of the messages with this mark; None if they are not in memory."""
        found: MessageRun | None = self._cache.get((_RUN, mark))
        return found

    def loaded(self, serde: Any, name: str, typed: Typed) -> Any:
        """Return the message of a blob: a new object each time, for the caller may change it."""
        known = self.loaded_messages(name)
        if known is not None:
            return copies(known)[0]
        message = serde.loads_typed(typed)
        self.learn(name, [message], len(typed[1]))
        return message

    def loaded_messages(self, name: str) -> LoadedMessages | None:
        """Return what `copies` makes the messages of a blob of; None if it is not in memory."""
        found: LoadedMessages | None = self._cache.get((_MESSAGES, name))
        return found

    def learn(self, name: str, messages: Sequence[Any], largest: int) -> None:
        """Remember what was just loaded of a blob, and nobody changed yet; the *largest* message had so many bytes."""
        kinds = tuple(map(type, messages))
        if largest > _MOST_COPIED or not _are_of_langchain(kinds) or not are_plain(messages):
            return
        with suppress(ValueError):  # an object of a program
            held = marshal.dumps([message.__getstate__() for message in messages])
            self._cache.add((_MESSAGES, name), (kinds, held), len(held))


def copies(known: LoadedMessages) -> list[BaseMessage]:
    """Return new messages that are equal to those remembered, in a fifth of the time of loading them."""
    messages = []
    for kind, held in zip(known[0], marshal.loads(known[1]), strict=True):  # noqa: S302 - this process wrote it
        message = kind.__new__(kind)
        message.__setstate__(held)
        messages.append(message)
    return messages


def mark_of(messages: Sequence[BaseMessage]) -> MessageMark | None:
    """Return what tells *messages* from all others that `are_plain`, in less than half the time of serializing them.

    None if a class, or an object in one, is a program's own, which may change without showing it here. `marshal` knows
    no such objects, and tells 1 from 1.0 and True, and a tuple from a list, which JSON and a comparison do not.
    """
    kinds = tuple(map(type, messages))
    if not _are_of_langchain(kinds):
        return None
    try:
        return kinds, sha256(marshal.dumps(_content(messages), _WITHOUT_REFERENCES)).digest()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def are_plain(messages: Sequence[BaseMessage]) -> bool:
    """Tell whether messages that have a mark hold values of JSON only: `marshal` takes an array for its bytes."""
    try:
        json.dumps(_content(messages))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
    return True


def _content(messages: Sequence[BaseMessage]) -> list[Any]:
    return [(message.__dict__, message.__pydantic_extra__) for message in messages]


@lru_cache(maxsize=1_024)
def _are_of_langchain(kinds: tuple[type, ...]) -> bool:
    return all(kind.__module__.startswith(_OF_MESSAGES) for kind in kinds)
