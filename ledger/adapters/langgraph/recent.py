"""What this process wrote to threads last: with it, the next step needs no look-up. Source: adapters LG-13."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Sequence, Set
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from ledger.adapters.langgraph.newest import NewestCheckpoint, NewestCheckpoints
from ledger.application.commands.session_turns import SessionTurns

_SESSIONS: Final = 1_000
_BLOBS: Final = 10_000
_HEADS: Final = 64  # each call of a subgraph has a namespace of its own


class ThreadHead(msgspec.Struct, frozen=True):
    """A checkpoint as a step after it needs it: its run, its values' references, its messages' digests, its *blobs*.

    *shown* are the names of the messages that the window has: those of the checkpoint, and what was said since. None if
    that is not known. *said* are the last of them, each with the id of the checkpoint after which a task wrote it. It
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
    said: tuple[tuple[str, str], ...] = ()
    waits: bool = False


class _Run(msgspec.Struct):
    """Versions that this process wrote one after the other, so that nobody else wrote between, and what they hold."""

    first: int
    last: int
    newest: NewestCheckpoints
    blobs: set[str] = set()
    #: The newest checkpoint of each namespace, as far as it was looked for.
    heads: dict[str, ThreadHead] = {}


class RecentWrites:
    """What this process wrote to each session, as far as nobody else wrote to it meanwhile."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, _Run] = OrderedDict()
        self._turns = SessionTurns()
        #: Of sessions that were forgotten: see `NewestCheckpoints.unsure`.
        self._unsure = ""

    @asynccontextmanager
    async def turn(self, session: str, *, together: bool) -> AsyncIterator[None]:
        """Let what tasks wrote go *together*, and a checkpoint alone, so that it knows the version before it."""
        key = hash(session)
        await self._turns.begin(key, together=together)
        try:
            yield
        finally:
            self._turns.end(key, together=together)

    def add(
        self,
        session: str,
        blobs: Iterable[str],
        first: int,
        last: int,
        *,
        head: ThreadHead | None = None,
    ) -> None:
        """Remember *blobs*, stored by a write whose events have the versions *first* to *last*.

        *head* is the newest checkpoint after it: nobody else wrote since it was looked for.
        """
        run = self._of.get(session)
        if run is None or first != run.last + 1 or len(run.blobs) > _BLOBS:
            run = self._begin(session, first)
        run.last = last
        run.blobs.update(blobs)
        if head is not None:
            run.heads.pop(head.namespace, None)
            run.heads[head.namespace] = head
            if len(run.heads) > _HEADS:
                del run.heads[next(namespace for namespace in run.heads if namespace)]
        self._of.move_to_end(session)

    def _begin(self, session: str, first: int) -> _Run:
        before = self._of.pop(session, None)
        unsure = self._unsure if before is None else before.newest.unsure()
        run = self._of[session] = _Run(first, first, NewestCheckpoints(unsure))
        if len(self._of) > _SESSIONS:
            self._unsure = max(self._unsure, self._of.popitem(last=False)[1].newest.unsure())
        return run

    def newest(self, session: str, version: int) -> NewestCheckpoints | None:
        """Return the newest checkpoints of a session that is at *version*; None if others wrote to it."""
        run = self._of.get(session)
        return run.newest if run is not None and run.last == version else None

    def doubt(self, session: str, checkpoint_id: str) -> None:
        """Remember that tasks may have written after this checkpoint what is not known here."""
        run = self._of.get(session)
        if run is None:
            self._unsure = max(self._unsure, checkpoint_id)
        else:
            run.newest.doubt(checkpoint_id)

    def learn(self, session: str, version: int, namespace: str, newest: NewestCheckpoint) -> None:
        """Remember what was read of a session that was at *version* before, unless it is at a later one by now.

        What this process wrote meanwhile may be known to be in the log only after the reader has seen it.
        """
        if max([newest.version, *(each.version for each in newest.writes)]) > version:
            return
        run = self._of.get(session)
        if run is None or run.last < version:
            run = self._begin(session, version)
        if run.last == version:
            run.newest.learn(namespace, newest)

    def beside(self, session: str, version: int) -> Set[str]:
        """Return the blobs that are in the life of the session that *version* is in."""
        run = self._of.get(session)
        return run.blobs if run is not None and run.first <= version <= run.last else frozenset()

    def show(self, session: str, checkpoint_id: str, names: Sequence[str]) -> None:
        """Remember that the window has these messages too, which a task wrote after a root checkpoint."""
        run = self._of.get(session)
        head = None if run is None else run.heads.get("")
        if run is not None and head is not None and head.shown is not None:
            said = *head.said, *((checkpoint_id, name) for name in names)
            run.heads[""] = msgspec.structs.replace(head, shown=[*head.shown, *names], said=said)

    def blobs(self, session: str) -> tuple[Set[str], int]:
        """Return the blobs of a session and the version of it of which they are known."""
        run = self._of.get(session)
        return (frozenset(), 0) if run is None else (run.blobs, run.last)

    def head(self, session: str, namespace: str) -> tuple[ThreadHead | None, int]:
        """Return the newest checkpoint and the version of the session of which that is known; None if it is not."""
        run = self._of.get(session)
        return (None, 0) if run is None else (run.heads.get(namespace), run.last)

    def has_run(self, session: str, run_id: str) -> bool:
        """Tell whether a checkpoint that is the newest of its namespace is known to be of a run."""
        run = self._of.get(session)
        return run is not None and any(head.run_id == run_id for head in run.heads.values())

    def forget_heads(self, session: str) -> None:
        """Forget the newest checkpoints of a session, since somebody else wrote to it."""
        run = self._of.get(session)
        if run is not None:
            run.heads.clear()
