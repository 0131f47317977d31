"""Values of channels from their references and blobs; messages that this process has loaded are copied.

No cache: what one read needs stays here until it is done, whatever is forgotten meanwhile.

Source: adapters LG-4, LG-13.
"""

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from typing import Any, Final

from ledger.adapters.langgraph.known_blobs import KnownBlobs, LoadedMessages, Typed, copies
from ledger.adapters.langgraph.stored_checkpoints import NAME, NAME_BYTES, named, unpacked
from ledger.errors import LogCorrupted

#: Nodes right above messages are copied as a whole.
_COPIED_DEPTH: Final = 1


class ReferencedValues:
    """What is in memory of the blobs that some references of a thread need."""

    def __init__(self, serde: Any, known: KnownBlobs, thread_id: str) -> None:
        self._serde = serde
        self._thread_id = thread_id
        self._known = known
        self._loaded: dict[str, LoadedMessages] = {}
        self.blobs: dict[str, Typed] = {}

    def take(self, level: Iterable[tuple[str, int]], *, whole: bool = False) -> Set[str]:
        """Take the blobs of a *level* from memory, and return the names of those missing.

        Each comes with the levels of nodes from it down to messages. A node whose messages were loaded before is not
        looked into, unless all blobs are wanted, as a *whole*.
        """
        missing = set()
        for name, depth in level:
            if name in self.blobs or name in self._loaded:
                continue
            loaded = self._known.loaded_messages(name) if depth == _COPIED_DEPTH and not whole else None
            typed = self._known.get(name) if loaded is None else None
            if loaded is not None:
                self._loaded[name] = loaded
            elif typed is not None:
                self.blobs[name] = typed
            else:
                missing.add(name)
        return missing

    def below(self, level: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return what the nodes of a *level* name.

        Raises:
            LogCorrupted: a blob is missing.
        """
        following: list[tuple[str, int]] = []
        for name, depth in level:
            if name in self._loaded:
                continue
            if name not in self.blobs:
                raise LogCorrupted(f"thread {self._thread_id} lacks a stored value; run `memory-ledger verify`")
            if depth:
                following += [(child, depth - 1) for child in _children(self.blobs[name])]
        return following

    def value(self, reference: Mapping[str, Any]) -> Any:
        """Return the value of a reference, whose messages are new objects."""
        if "fields" in reference:
            return {key: self.value(item) for key, item in reference["fields"].items()}
        if "messages" in reference:
            messages: list[Any] = []
            for name, depth in _roots(reference["messages"]):
                messages += self._messages(name, depth)
            return messages
        return self._serde.loads_typed(
            self.blobs[reference["blob"]] if "blob" in reference else unpacked(reference["inline"])
        )

    def _messages(self, name: str, depth: int) -> list[Any]:
        if name in self._loaded:
            return copies(self._loaded[name])
        if not depth:
            return [self._known.loaded(self._serde, name, self.blobs[name])]
        children = _children(self.blobs[name])
        if depth > _COPIED_DEPTH:
            return [message for child in children for message in self._messages(child, depth - 1)]
        blobs = [self.blobs[child] for child in children]
        messages = list(map(self._serde.loads_typed, blobs))
        self._known.learn(name, messages, max(len(content) for _, content in blobs))
        return messages

    def message_names(self, reference: Mapping[str, Any]) -> list[str]:
        """Return the names of the blobs of a list of messages, in its order."""
        level = _roots(reference["messages"])
        while any(depth for _, depth in level):
            level = [
                below
                for name, depth in level
                for below in ([(child, depth - 1) for child in _children(self.blobs[name])] if depth else [(name, 0)])
            ]
        return [name for name, _ in level]


def wanted(references: Iterable[Mapping[str, Any] | None]) -> list[tuple[str, int]]:
    """Return the blobs that *references* name, each with the levels of nodes from it down to messages."""
    found: list[tuple[str, int]] = []
    for reference in references:
        if reference is None:
            continue
        if "blob" in reference:
            found.append((reference["blob"], 0))
        found += wanted(reference.get("fields", {}).values())
        found += _roots(reference.get("messages", ()))
    return found


def _roots(edges: Any) -> list[tuple[str, int]]:
    """Return the names in the *edges* of a tree, in the order of the messages below them, with their depths."""
    return [
        (edge[at : at + NAME], depth)
        for depth, edge in zip(range(len(edges) - 1, -1, -1), edges, strict=True)
        for at in range(0, len(edge), NAME)
    ]


@lru_cache(maxsize=4_096)
def _children(typed: Typed) -> tuple[str, ...]:
    """Return the names in a node of a tree."""
    return tuple(named(typed[1][at : at + NAME_BYTES]) for at in range(0, len(typed[1]), NAME_BYTES))
