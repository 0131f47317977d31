"""Values of channels as references: small ones inline, large ones as blobs, lists of messages as trees of blobs.

A blob is stored once for each thread under the digest of its type and bytes. A list of messages is a tree of digests
with sixteen branches: a list that grows by one message adds a few short nodes, not the whole list again.

Source: adapters LG-3, LG-4.
"""

import json
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence, Set
from hashlib import sha256
from typing import Any, Final

from langchain_core.messages import BaseMessage

from ledger.adapters.langgraph.known_blobs import KnownBlobs, MessageRun, Typed, are_plain, mark_of
from ledger.errors import InvalidInput
from ledger.events.strict_json import BODY, check_value

INLINE_BYTES: Final = 256
_BRANCHES: Final = 16
_NODE: Final = "node"
NAME_BYTES: Final = 20
NAME: Final = 27  # characters
#: Levels of plain objects that are looked into for lists of messages.
_DEPTH: Final = 4


def blob_bytes(typed: Typed) -> bytes:
    """Return a blob as it is stored."""
    return typed[0].encode() + b"\x00" + typed[1]


def typed_of(blob: bytes) -> Typed:
    """Return type and bytes of a stored blob."""
    kind, _, content = blob.partition(b"\x00")
    return kind.decode(), content


class Stored:
    """References of one write, and the blobs that they need."""

    def __init__(self, serde: Any, known: KnownBlobs, *, splits_messages: bool) -> None:
        self._serde = serde
        self._known = known
        self._splits_messages = splits_messages
        self._runs: list[MessageRun] = []
        self._others: dict[str, Typed] = {}
        #: Those of each message or list of messages, by the identity of its reference.
        self.digests: dict[int, list[str]] = {}

    @property
    def blobs(self) -> dict[str, Typed]:
        """All blobs by name."""
        return self.lacking(frozenset())

    def lacking(self, known: Set[str]) -> dict[str, Typed]:
        """Return the blobs that are not *known* to be stored; what a stored blob names is stored, too."""
        found = {name: typed for name, typed in self._others.items() if name not in known}
        for run in self._runs:
            if run.name not in known:
                found |= {name: typed for name, typed in run.blobs.items() if name not in known}
        return found

    def find(self, name: str) -> Typed | None:
        """Return the blob with that *name*; None if no reference needs it."""
        found = (blobs[name] for blobs in (self._others, *(run.blobs for run in self._runs)) if name in blobs)
        return next(found, None)

    def reference(self, value: Any, depth: int = _DEPTH) -> dict[str, Any]:
        """Return the reference of a value of a channel, in which objects down to that *depth* are looked into."""
        if self._splits_messages and is_messages(value):
            return self._list(value)
        if self._splits_messages and isinstance(value, BaseMessage):
            run = self._run([value])
            return self._with_digests({"blob": run.name}, run.names)
        if depth and self._splits_messages and _has_messages(value):  # such as what a graph is called with
            return {"fields": {key: self.reference(item, depth - 1) for key, item in value.items()}}
        typed: Typed = self._serde.dumps_typed(value)
        if len(typed[1]) <= INLINE_BYTES:
            return {"inline": packed(typed)}
        return {"blob": named(self._node(typed))}

    def _list(self, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        """Return the reference of a list of messages.

        Sixteen are looked at together, since a list mostly grows at its end; those at the end one by one.
        """
        whole = len(messages) // _BRANCHES * _BRANCHES
        runs = [self._run(messages[at : at + _BRANCHES]) for at in range(0, whole, _BRANCHES)]
        rest = [self._run([message]) for message in messages[whole:]]
        edges = self._edges([run.digest for run in runs]) if runs else []
        reference = {"messages": [*edges, "".join(run.name for run in rest)]}
        return self._with_digests(reference, [name for run in (*runs, *rest) for name in run.names])

    def _with_digests(self, reference: dict[str, Any], names: list[str]) -> dict[str, Any]:
        self.digests[id(reference)] = names
        return reference

    def _run(self, messages: Sequence[BaseMessage]) -> MessageRun:
        """Return what is stored of messages, and remember that it is needed."""
        run = self._message_run(messages)
        self._runs.append(run)
        return run

    def _message_run(self, messages: Sequence[BaseMessage]) -> MessageRun:
        """Return what is stored of messages, which are serialized unless some with the same content were."""
        mark = mark_of(messages)
        known = None if mark is None else self._known.run(mark)
        if known is None:
            known = self._new_run(messages)
            if mark is not None and are_plain(messages):
                self._known.add_run(mark, known)
        return known

    def _new_run(self, messages: Sequence[BaseMessage]) -> MessageRun:
        singles = [self._message_run([message]) for message in messages] if len(messages) > 1 else []
        typed = (_NODE, b"".join(run.digest for run in singles)) if singles else self._serde.dumps_typed(messages[0])
        digest = _digest(typed)
        name = named(digest)
        blobs = {own: blob for run in singles for own, blob in run.blobs.items()} | {name: typed}
        return MessageRun(digest, name, [run.name for run in singles] or [name], blobs)

    def _node(self, typed: Typed) -> bytes:
        digest = _digest(typed)
        self._others[named(digest)] = typed
        return digest

    def _edges(self, digests: Sequence[bytes]) -> list[str]:
        """Return the nodes at the right edge of the tree over *digests*, the root first; all other nodes are blobs."""
        edges: list[str] = []
        level = list(digests)
        while True:
            whole = len(level) // _BRANCHES * _BRANCHES
            edges.append("".join(map(named, level[whole:])))
            if not whole:
                return edges[::-1]
            parts = [level[at : at + _BRANCHES] for at in range(0, whole, _BRANCHES)]
            level = [self._node((_NODE, b"".join(part))) for part in parts]


def is_messages(value: Any) -> bool:
    """Tell whether *value* is a list of messages and nothing else."""
    return type(value) is list and bool(value) and all(issubclass(kind, BaseMessage) for kind in set(map(type, value)))


def _has_messages(value: Any) -> bool:
    """Tell whether *value* is a plain object with a list of messages."""
    return (
        type(value) is dict
        and len(value) <= BODY.keys
        and all(type(key) is str and key.isprintable() and len(key.encode()) <= BODY.key_bytes for key in value)
        and any(map(is_messages, value.values()))
    )


def _digest(typed: Typed) -> bytes:
    return sha256(blob_bytes(typed)).digest()[:NAME_BYTES]


def named(digest: bytes) -> str:
    """Return the name of a blob: 160 bits of the SHA-256 of its type and bytes, in 27 characters."""
    return urlsafe_b64encode(digest)[:NAME].decode()


def packed(typed: Typed) -> list[str]:
    """Return type and bytes as JSON."""
    return [typed[0], b64encode(typed[1]).decode()]


def unpacked(pair: Sequence[str]) -> Typed:
    """Return type and bytes that `packed` returned as JSON."""
    return pair[0], b64decode(pair[1])


def storable_values(values: dict[str, Any]) -> dict[str, Any] | str:
    """Return the *values* of a checkpoint, a version and a reference by channel, as the ledger takes them.

    Where it does not, for a graph of thousands of nodes or with very long names, they are the text of their JSON.
    """
    return values if _is_taken(values) else json.dumps(values)


def stored_values(stored: dict[str, Any] | str) -> dict[str, Any]:
    """Return the values that `storable_values` was given."""
    found: dict[str, Any] = json.loads(stored) if isinstance(stored, str) else stored
    return found


def _is_taken(value: Any) -> bool:
    """Tell whether the ledger takes *value* one level below the value that it stores."""
    try:
        check_value({"value": value}, field="value")
    except InvalidInput:
        return False
    return True


def plain_or_packed(serde: Any, value: Any, *, plain: bool) -> Any:
    """Return *value* as JSON: as it is if nothing is lost by it, else serialized."""
    if plain and _is_plain(value) and _is_taken({"json": value}):
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
