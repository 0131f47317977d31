"""What a saver knows of threads: with it, the next step needs no look-up, and a run begins with one.

Of a session it is what this process wrote since some version, nobody else between, and what it read at such a version.
So it is as the log has it while the session is at the newest version that is known. Source: adapters LG-13.
"""

import itertools
from collections.abc import Iterable, Sequence, Set
from typing import Any, Final

import msgspec

from ledger.adapters.langgraph.memory_cache import MemoryCache
from ledger.adapters.langgraph.task_writes import TaskWrites

_NAME_BYTES: Final = 100  # of a name in a collection
encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
#: What tasks wrote after a checkpoint: the version, and the value as JSON.
_Encoded = list[tuple[int, bytes]]


class ThreadHead(msgspec.Struct, frozen=True):
    """A checkpoint as a step after it needs it: its run, its values' references, its messages' digests, its *blobs*.

    *shown* are the names of the messages that the window has: those of the checkpoint, and what was said since. None if
    that is not known. *of_tasks* are the last of them, each with the id of the checkpoint after which a task wrote. It
    *waits* if the graph was called with what is a message only in the next checkpoint, such as ``("user", "Hello")``.
    """

    namespace: str
    checkpoint_id: str
    version: int
    values: dict[str, Any]
    digests: list[str]
    blobs: Set[str]
    run_id: str | None
    shown: list[str] | None
    of_tasks: tuple[tuple[str, str], ...] = ()
    waits: bool = False

    def size(self) -> int:
        """Return about how many bytes it takes."""
        names = len(self.digests) + len(self.blobs) + len(self.shown or ()) + len(self.of_tasks)
        return names * _NAME_BYTES + len(encode(self.values))


class NewestCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint as it is stored, the version of it, and what tasks wrote after it."""

    checkpoint_id: str
    stored: dict[str, Any]
    version: int
    writes: list[TaskWrites]


class _Newest(msgspec.Struct):
    """A `NewestCheckpoint` with its values as JSON: a reader may change what it gets."""

    checkpoint_id: str
    stored: bytes
    version: int
    writes: _Encoded

    def size(self) -> int:
        return len(self.stored) + _size(self.writes)


class _Namespace(msgspec.Struct):
    """The newest checkpoint of a namespace, for a step and for a reader, as far as it was looked for."""

    head: ThreadHead | None = None
    newest: _Newest | None = None

    def size(self) -> int:
        return sum(each.size() for each in (self.head, self.newest) if each is not None)


class _KnownThread(msgspec.Struct, eq=False):
    """Versions of a session that this process wrote one after the other, so that nobody else wrote between."""

    first: int
    last: int
    #: Of checkpoints up to this id it is not known what tasks wrote before they were stored.
    unsure: str
    #: With it, its namespaces are found; each thread has another one.
    number: int
    blobs: set[str] = set()
    #: The run of the newest checkpoint of each namespace.
    runs: dict[str, str | None] = {}
    #: What tasks wrote before their checkpoint was stored: a graph goes on while that is on its way.
    ahead: dict[tuple[str, str], _Encoded] = {}

    def size(self) -> int:
        names = len(self.blobs) + len(self.runs) + len(self.ahead)
        return names * _NAME_BYTES + sum(map(_size, self.ahead.values()))

    def doubt(self, checkpoint_id: str) -> None:
        self.unsure = max(self.unsure, checkpoint_id)

    def doubted(self) -> str:
        """Return the greatest id of a checkpoint of which tasks may have written what only this knows."""
        return max([self.unsure, *(checkpoint_id for _, checkpoint_id in self.ahead)])


class KnownThreads:
    """What this process knows of each session, as far as nobody else wrote to it meanwhile."""

    def __init__(self, cache: MemoryCache) -> None:
        self._cache = cache
        self._cache.forgotten = self._forgotten
        self._numbers = itertools.count()
        #: Of sessions that were forgotten: see `_Thread.unsure`.
        self._unsure = ""

    def add(self, session: str, blobs: Iterable[str], first: int, last: int, *, head: ThreadHead | None = None) -> None:
        """Remember *blobs*, stored by a write whose events have the versions *first* to *last*.

        *head* is the newest checkpoint after it: nobody else wrote since it was looked for.
        """
        thread = self._thread(session)
        if thread is None or first != thread.last + 1:
            thread = self._begin(session, first)
        thread.last = last
        thread.blobs.update(blobs)
        if head is not None:
            thread.runs[head.namespace] = head.run_id
            known = self._namespace(thread, head.namespace)
            self._remember(thread, head.namespace, _Namespace(head, known.newest))
        self._cache.add(_key(session), thread, thread.size())

    def beside(self, session: str, version: int) -> Set[str]:
        """Return the blobs that are in the life of the session that *version* is in."""
        thread = self._thread(session)
        return thread.blobs if thread is not None and thread.first <= version <= thread.last else frozenset()

    def blobs(self, session: str) -> tuple[Set[str], int]:
        """Return the blobs of a session and the version of it of which they are known."""
        thread = self._thread(session)
        return (frozenset(), 0) if thread is None else (thread.blobs, thread.last)

    def head(self, session: str, namespace: str) -> tuple[ThreadHead | None, int]:
        """Return the newest checkpoint and the version of the session of which that is known; None if it is not."""
        thread = self._thread(session)
        return (None, 0) if thread is None else (self._namespace(thread, namespace).head, thread.last)

    def show(self, session: str, checkpoint_id: str, names: Sequence[str]) -> None:
        """Remember that the window has these messages too, which a task wrote after a root checkpoint."""
        thread = self._thread(session)
        known = _Namespace() if thread is None else self._namespace(thread, "")
        if thread is not None and known.head is not None and known.head.shown is not None:
            of_tasks = *known.head.of_tasks, *((checkpoint_id, name) for name in names)
            head = msgspec.structs.replace(known.head, shown=[*known.head.shown, *names], of_tasks=of_tasks)
            self._remember(thread, "", _Namespace(head, known.newest))

    def has_run(self, session: str, run_id: str) -> bool:
        """Tell whether a checkpoint that is the newest of its namespace is known to be of a run."""
        thread = self._thread(session)
        return thread is not None and run_id in thread.runs.values()

    def forget_heads(self, session: str) -> None:
        """Forget the newest checkpoints of a session, since somebody else wrote to it."""
        thread = self._thread(session)
        if thread is not None:
            thread.number = next(self._numbers)
            thread.runs.clear()

    def newest(self, session: str, version: int, namespace: str) -> NewestCheckpoint | None:
        """Return the newest checkpoint of a session that is at *version*; None if it is not known.

        That it is not known does not tell that none is stored.
        """
        thread = self._at(session, version)
        newest = None if thread is None else self._namespace(thread, namespace).newest
        if newest is None:
            return None
        writes = [TaskWrites(written, _decode(value)) for written, value in newest.writes]
        return NewestCheckpoint(newest.checkpoint_id, _decode(newest.stored), newest.version, writes)

    def learn(self, session: str, version: int, namespace: str, read: NewestCheckpoint) -> None:
        """Remember what was *read* of a session that was at *version* before, with all that tasks wrote after it.

        Not if the session is at a later one by now. What this process wrote meanwhile may be known to be in the log
        only after the reader has seen it.
        """
        if max([read.version, *(each.version for each in read.writes)]) > version:
            return
        thread = self._thread(session)
        if thread is None or thread.last < version:
            thread = self._begin(session, version)
        if thread.last == version:
            writes = [(each.version, encode(each.value)) for each in read.writes]
            newest = _Newest(read.checkpoint_id, encode(read.stored), read.version, writes)
            self._hold(session, thread, namespace, newest)

    def store(
        self, session: str, namespace: str, checkpoint_id: str, stored: bytes, version: int, *, again: bool
    ) -> None:
        """Remember a checkpoint that this process stored at *version*, the newest of its namespace.

        *stored* is its value as JSON; it was the newest before, if it is stored *again*.
        """
        thread = self._at(session, version)
        if thread is None:
            return
        known = self._namespace(thread, namespace)
        before = known.newest
        self._remember(thread, namespace, _Namespace(known.head))
        if again and before is not None:
            self._hold(session, thread, namespace, _Newest(checkpoint_id, stored, version, before.writes))
        elif not again and checkpoint_id > thread.unsure:
            writes = thread.ahead.get((namespace, checkpoint_id), [])
            self._hold(session, thread, namespace, _Newest(checkpoint_id, stored, version, writes))

    def add_writes(self, session: str, namespace: str, checkpoint_id: str, added: TaskWrites) -> None:
        """Remember what a task wrote in this process after a checkpoint, which may still be on its way."""
        thread = self._at(session, added.version)
        if thread is None:
            return
        newest, encoded = self._namespace(thread, namespace).newest, (added.version, encode(added.value))
        if newest is not None and newest.checkpoint_id == checkpoint_id:
            newest.writes.append(encoded)
            self._hold(session, thread, namespace, newest)
        elif checkpoint_id > max(thread.unsure, newest.checkpoint_id if newest else ""):
            thread.ahead.setdefault((namespace, checkpoint_id), []).append(encoded)
            self._cache.add(_key(session), thread, thread.size())
        else:  # of one that was the newest before
            thread.doubt(checkpoint_id)

    def doubt(self, session: str, checkpoint_id: str) -> None:
        """Remember that tasks may have written after this checkpoint what is not known here."""
        thread = self._thread(session)
        if thread is None:
            self._unsure = max(self._unsure, checkpoint_id)
        else:
            thread.doubt(checkpoint_id)

    def _hold(self, session: str, thread: _KnownThread, namespace: str, newest: _Newest) -> None:
        thread.ahead.pop((namespace, newest.checkpoint_id), None)
        for key in [key for key in thread.ahead if key[0] == namespace and key[1] < newest.checkpoint_id]:
            del thread.ahead[key]
            thread.doubt(key[1])
        self._cache.add(_key(session), thread, thread.size())
        self._remember(thread, namespace, _Namespace(self._namespace(thread, namespace).head, newest))

    def _begin(self, session: str, first: int) -> _KnownThread:
        before = self._thread(session)
        unsure = self._unsure if before is None else before.doubted()
        thread = _KnownThread(first, first, unsure, next(self._numbers))
        self._cache.add(_key(session), thread, thread.size())
        return thread

    def _at(self, session: str, version: int) -> _KnownThread | None:
        """Return what is known of a session that is at *version*; None if others wrote to it."""
        thread = self._thread(session)
        return thread if thread is not None and thread.last == version else None

    def _thread(self, session: str) -> _KnownThread | None:
        found: _KnownThread | None = self._cache.get(_key(session))
        return found

    def _namespace(self, thread: _KnownThread, namespace: str) -> _Namespace:
        found: _Namespace | None = self._cache.get((_Namespace, thread.number, namespace))
        return found or _Namespace()

    def _remember(self, thread: _KnownThread, namespace: str, known: _Namespace) -> None:
        self._cache.add((_Namespace, thread.number, namespace), known, known.size())

    def _forgotten(self, value: Any) -> None:
        if isinstance(value, _KnownThread):
            self._unsure = max(self._unsure, value.doubted())


def _key(session: str) -> tuple[type, str]:
    return _KnownThread, session


def _size(writes: _Encoded) -> int:
    return sum(len(value) for _, value in writes)
