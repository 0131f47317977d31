"""The newest checkpoints of a thread as this process stored or read them, so that a run begins with one look-up.

They are as the log has them while nobody else writes to the session. Source: adapters LG-13.
"""

from typing import Any, Final

import msgspec

from ledger.adapters.langgraph.task_writes import TaskWrites

_NAMESPACES: Final = 4
_MOST_BYTES: Final = 32 * 1024
encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class NewestCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint as it is kept, the version of it, and what tasks wrote after it."""

    checkpoint_id: str
    stored: dict[str, Any]
    version: int
    writes: list[TaskWrites]


class _Held(msgspec.Struct):
    """A checkpoint with its values as JSON: a reader may change what it gets."""

    checkpoint_id: str
    stored: bytes
    version: int
    writes: list[tuple[int, bytes]]

    def size(self) -> int:
        return len(self.stored) + _size(self.writes)


class NewestCheckpoints:
    """Those of one session by namespace; one that is not here may be stored all the same."""

    def __init__(self, unsure: str = "") -> None:
        self._of: dict[str, _Held] = {}
        #: What tasks wrote before their checkpoint was stored: a graph goes on while that is on its way.
        self._ahead: dict[tuple[str, str], list[tuple[int, bytes]]] = {}
        #: Of checkpoints up to this id it is not known what tasks wrote before they were stored.
        self._unsure = unsure

    def get(self, namespace: str) -> NewestCheckpoint | None:
        """Return the newest checkpoint of a namespace; None if it is not known."""
        held = self._of.get(namespace)
        if held is None:
            return None
        writes = [TaskWrites(version, _decode(value)) for version, value in held.writes]
        return NewestCheckpoint(held.checkpoint_id, _decode(held.stored), held.version, writes)

    def learn(self, namespace: str, read: NewestCheckpoint) -> None:
        """Remember a checkpoint that was read, with all that tasks wrote after it."""
        writes = [(each.version, encode(each.value)) for each in read.writes]
        self._hold(namespace, _Held(read.checkpoint_id, encode(read.stored), read.version, writes))

    def store(self, namespace: str, checkpoint_id: str, stored: bytes, version: int, *, again: bool) -> None:
        """Remember a checkpoint that this process stored, the newest of its namespace.

        *stored* is its value as JSON; it was the newest before, if it is stored *again*.
        """
        before = self._of.pop(namespace, None)
        if again and before is not None:
            self._hold(namespace, _Held(checkpoint_id, stored, version, before.writes))
        elif not again and checkpoint_id > self._unsure:
            writes = self._ahead.get((namespace, checkpoint_id), [])
            self._hold(namespace, _Held(checkpoint_id, stored, version, writes))

    def add_writes(self, namespace: str, checkpoint_id: str, added: TaskWrites) -> None:
        """Remember what a task wrote in this process after a checkpoint, which may still be on its way."""
        held, encoded = self._of.get(namespace), (added.version, encode(added.value))
        if held is not None and held.checkpoint_id == checkpoint_id:
            held.writes.append(encoded)
            self._hold(namespace, held)
        elif checkpoint_id > max(self._unsure, held.checkpoint_id if held else ""):
            self._ahead.setdefault((namespace, checkpoint_id), []).append(encoded)
            if sum(map(_size, self._ahead.values())) > _MOST_BYTES:
                self._unsure = self.unsure()
                self._ahead.clear()
        else:  # of one that was the newest before
            self.doubt(checkpoint_id)

    def doubt(self, checkpoint_id: str) -> None:
        """Remember that tasks may have written after this checkpoint what is not known here."""
        self._unsure = max(self._unsure, checkpoint_id)

    def unsure(self) -> str:
        """Return the greatest id of a checkpoint of which tasks may have written what only this knows."""
        return max([self._unsure, *(checkpoint_id for _, checkpoint_id in self._ahead)])

    def _hold(self, namespace: str, held: _Held) -> None:
        self._ahead.pop((namespace, held.checkpoint_id), None)
        for key in [key for key in self._ahead if key[0] == namespace and key[1] < held.checkpoint_id]:
            del self._ahead[key]
            self.doubt(key[1])
        self._of.pop(namespace, None)
        if held.size() > _MOST_BYTES:
            self.doubt(held.checkpoint_id)
            return
        self._of[namespace] = held
        if len(self._of) > _NAMESPACES:
            del self._of[next(iter(self._of))]


def _size(writes: list[tuple[int, bytes]]) -> int:
    return sum(len(value) for _, value in writes)
