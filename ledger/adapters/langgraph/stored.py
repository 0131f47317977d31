"""Values of channels as references: small ones inline, large ones as blobs, lists of messages as trees of blobs.

A blob is stored once for each thread under the digest of its type and bytes. A list of messages is a tree of digests
with sixteen branches: a list that grows by one message adds a few short nodes, not the whole list again.

Source: adapters LG-3, LG-4.
"""

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from langchain_core.messages import BaseMessage

from ledger.adapters.langgraph.seen import BlobCache, SeenRun, Typed, mark_of

INLINE_BYTES: Final = 256
_BRANCHES: Final = 16
_NODE: Final = "node"
_NAME_BYTES: Final = 20
_NAME: Final = 27  # characters


def blob_bytes(typed: Typed) -> bytes:
    """Return a blob as it is stored."""
    return typed[0].encode() + b"\x00" + typed[1]


def typed_of(blob: bytes) -> Typed:
    """Return type and bytes of a stored blob."""
    kind, _, content = blob.partition(b"\x00")
    return kind.decode(), content


class Stored:
    """References of one write, and the blobs that they need."""

    def __init__(self, serde: Any, seen: BlobCache, *, splits_messages: bool) -> None:
        self._serde = serde
        self._seen = seen
        self._splits_messages = splits_messages
        self.blobs: dict[str, Typed] = {}
        #: Those of each message or list of messages, by the identity of its reference.
        self.digests: dict[int, list[str]] = {}

    def reference(self, value: Any) -> dict[str, Any]:
        """Return the reference of a value of a channel."""
        if self._splits_messages and is_messages(value):
            named = self._named_messages(value)
            tree = self._tree([digest for digest, _ in named])
            return self._with_digests({"messages": tree}, [name for _, name in named])
        if self._splits_messages and isinstance(value, BaseMessage):
            [(_, name)] = self._run([value])
            return self._with_digests({"blob": name}, [name])
        if self._splits_messages and _has_messages(value):  # such as what a graph is called with
            return {"fields": {key: self.reference(item) for key, item in value.items()}}
        typed: Typed = self._serde.dumps_typed(value)
        if len(typed[1]) <= INLINE_BYTES:
            return {"inline": packed(typed)}
        return {"blob": _named(self._blob(typed))}

    def _with_digests(self, reference: dict[str, Any], names: list[str]) -> dict[str, Any]:
        self.digests[id(reference)] = names
        return reference

    def _named_messages(self, messages: Sequence[BaseMessage]) -> list[tuple[bytes, str]]:
        """Return the digest and the name of each message.

        Sixteen are looked at together, since a list mostly grows at its end; those at the end one by one.
        """
        whole = len(messages) // _BRANCHES * _BRANCHES
        named: list[tuple[bytes, str]] = []
        for at in range(0, whole, _BRANCHES):
            named += self._run(messages[at : at + _BRANCHES])
        for message in messages[whole:]:
            named += self._run([message])
        return named

    def _run(self, messages: Sequence[BaseMessage]) -> list[tuple[bytes, str]]:
        """Return the digests and names of messages, which are serialized unless some with the same content were."""
        mark = mark_of(messages)
        known = None if mark is None else self._seen.run(mark)
        if known is None:
            if len(messages) > 1:
                named = [each for message in messages for each in self._run([message])]
            else:
                digest = self._blob(self._serde.dumps_typed(messages[0]))
                named = [(digest, _named(digest))]
            known = SeenRun(named, {name: self.blobs[name] for _, name in named})
            if mark is not None:
                self._seen.add_run(mark, known)
        self.blobs |= known.blobs
        return known.named

    def _blob(self, typed: Typed) -> bytes:
        digest = sha256(blob_bytes(typed)).digest()[:_NAME_BYTES]
        self.blobs[_named(digest)] = typed
        return digest

    def _tree(self, digests: Sequence[bytes]) -> list[str]:
        """Return the nodes at the right edge of the tree, the root first; all other nodes are blobs."""
        edges: list[str] = []
        level = list(digests)
        while True:
            whole = len(level) // _BRANCHES * _BRANCHES
            edges.append("".join(map(_named, level[whole:])))
            if not whole:
                return edges[::-1]
            parts = [level[at : at + _BRANCHES] for at in range(0, whole, _BRANCHES)]
            level = [self._blob((_NODE, b"".join(part))) for part in parts]


def is_messages(value: Any) -> bool:
    """Tell whether *value* is a list of messages and nothing else."""
    return type(value) is list and bool(value) and all(isinstance(item, BaseMessage) for item in value)


def _has_messages(value: Any) -> bool:
    """Tell whether *value* is a plain object with a list of messages."""
    return (
        type(value) is dict
        and all(type(key) is str and key.isprintable() for key in value)
        and any(map(is_messages, value.values()))
    )


@lru_cache(maxsize=4_096)
def children(typed: Typed) -> tuple[str, ...]:
    """Return the digests in a node of a tree."""
    return tuple(_named(typed[1][at : at + _NAME_BYTES]) for at in range(0, len(typed[1]), _NAME_BYTES))


def wanted(references: Iterable[Mapping[str, Any] | None]) -> list[tuple[str, int]]:
    """Return the blobs that *references* name, each with the levels of nodes from it down to messages."""
    found: list[tuple[str, int]] = []
    for reference in references:
        if reference is None:
            continue
        if "blob" in reference:
            found.append((reference["blob"], 0))
        found += wanted(reference.get("fields", {}).values())
        edges = reference.get("messages", ())
        for depth, edge in enumerate(reversed(edges)):
            found += [(digest, depth) for digest in _split(edge)]
    return found


def loaded(serde: Any, reference: Mapping[str, Any], blobs: Mapping[str, Typed], seen: BlobCache) -> Any:
    """Return the value of a reference."""
    if "fields" in reference:
        return {key: loaded(serde, item, blobs, seen) for key, item in reference["fields"].items()}
    if "messages" in reference:
        return [seen.loaded(serde, name, blobs[name]) for name in message_digests(reference, blobs)]
    typed = blobs[reference["blob"]] if "blob" in reference else unpacked(reference["inline"])
    return serde.loads_typed(typed)


def message_digests(reference: Mapping[str, Any], blobs: Mapping[str, Typed]) -> list[str]:
    """Return the digests of a list of messages, in its order."""
    edges = reference["messages"]
    digests: list[str] = []
    for depth, edge in zip(range(len(edges) - 1, -1, -1), edges, strict=True):
        level = _split(edge)
        for _ in range(depth):
            level = [child for digest in level for child in children(blobs[digest])]
        digests += level
    return digests


def _split(edge: str) -> list[str]:
    return [edge[at : at + _NAME] for at in range(0, len(edge), _NAME)]


def _named(digest: bytes) -> str:
    """Return the name of a blob: 160 bits of the SHA-256 of its type and bytes, in 27 characters."""
    return urlsafe_b64encode(digest)[:_NAME].decode()


def packed(typed: Typed) -> list[str]:
    """Return type and bytes as JSON."""
    return [typed[0], b64encode(typed[1]).decode()]


def unpacked(pair: Sequence[str]) -> Typed:
    """Return type and bytes that `packed` returned as JSON."""
    return pair[0], b64decode(pair[1])


def plain_or_packed(serde: Any, value: Any, *, plain: bool) -> Any:
    """Return *value* as JSON: as it is if nothing is lost by it, else serialized."""
    if plain and _is_plain(value):
        return {"json": value}
    return {"serde": packed(serde.dumps_typed(value))}


def from_plain_or_packed(serde: Any, stored: Mapping[str, Any]) -> Any:
    """Return what `plain_or_packed` stored."""
    return stored["json"] if "json" in stored else serde.loads_typed(unpacked(stored["serde"]))


def _is_plain(value: Any) -> bool:
    try:
        text = json.dumps(value, allow_nan=False)
        return bool(_same(json.loads(text), value)) and "\\u0000" not in text and "\\ud" not in text
    except (TypeError, ValueError, RecursionError):
        return False


def _same(read: Any, value: Any) -> bool:
    if type(read) is not type(value):
        return False
    if isinstance(read, dict):
        return read.keys() == value.keys() and all(
            key.isprintable() and _same(each, value[key]) for key, each in read.items()
        )
    if isinstance(read, list):
        return len(read) == len(value) and all(map(_same, read, value))
    return bool(read == value) and (not isinstance(read, int) or isinstance(read, bool) or abs(read) < 2**53)
