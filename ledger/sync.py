"""The same memory without ``await``: each method runs on an event loop in its own thread.

    with SyncMemoryLedger.open() as ledger:
        ledger.add_user_message("session-1", "How do I add auth?")

The methods are those of `MemoryLedger` and `LongTermMemory`; ``sync.pyi``, which is generated, lists them for editors
and type checkers.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from operator import attrgetter
from typing import Any

from anyio import to_thread

from ledger.application.facade.blocking import Blocking, described
from ledger.application.facade.event_loop_thread import EventLoopThread
from ledger.application.notifications import IN_HANDLER
from ledger.errors import InvalidInput
from ledger.long_term_memory import LongTermMemory
from ledger.memory import MemoryLedger

#: Arguments of `open` that a forked child cannot use again: they may have connections.
_NOT_FOR_CHILDREN = ("store", "summarizer", "embedder")


#: In a handler: the id of its ledger's thread.
_handles_for: ContextVar[int | None] = ContextVar("_handles_for", default=None)


class SyncLongTermMemory(Blocking, of=LongTermMemory, without=frozenset({"over", "past", "writes_for_promotion"})):
    """`LongTermMemory`, method by method; may be used from several threads."""


class SyncMemoryLedger(Blocking, of=MemoryLedger):
    """`MemoryLedger`, method by method; may be used from several threads.

    In a forked child it opens again automatically, with the same settings. If it was given a store, summarizer,
    embedder or handler, it raises `Unavailable` there: open one in each process.

    An ``async`` handler or summarizer runs on the ledger's own event loop and cannot call this ledger; an ordinary
    function can. One that was never closed closes itself when nothing refers to it any more or the program ends, with
    a `ResourceWarning`.
    """

    _personal = frozenset({"on", "set_summarizer"})

    @classmethod
    @contextmanager
    @described(MemoryLedger.open)
    def open(cls, *args: Any, **kwargs: Any) -> "Iterator[SyncMemoryLedger]":  # noqa: D102 - described
        with _opened(*args, **kwargs) as thread:
            yield cls(thread)

    @classmethod
    @described(MemoryLedger.connect)
    def connect(cls, *args: Any, **kwargs: Any) -> "SyncMemoryLedger":  # noqa: D102 - described
        return cls(_opened(*args, **kwargs))

    @described(MemoryLedger.close)
    def close(self) -> None:  # noqa: D102 - described
        if _handles_for.get() == id(self._thread):
            raise InvalidInput("in_handler", IN_HANDLER)
        self._thread.close()

    @described(MemoryLedger.on)
    def on(self, event: Any, handler: Callable[..., object]) -> Callable[[], None]:  # noqa: D102 - described
        own = id(self._thread)  # a reference would keep the ledger open

        async def in_a_thread(*about: object) -> None:
            _handles_for.set(own)
            began = []

            def handled() -> object:
                began.append(True)
                return handler(*about)

            try:
                outcome = await to_thread.run_sync(handled)
            except RuntimeError:
                if began:
                    raise
                outcome = handled()  # from Python 3.12 on no thread begins while the interpreter ends
            if inspect.isawaitable(outcome):
                await outcome

        end = self._call("on", event, in_a_thread if callable(handler) else handler)
        loop = self._thread.loop()
        return lambda: loop.call(end)

    @property
    def long_term(self) -> SyncLongTermMemory:
        """Long-term memory: the records of this namespace, which outlive sessions."""
        return SyncLongTermMemory(self._thread, attrgetter("long_term"))


def _opened(*args: Any, **kwargs: Any) -> EventLoopThread[MemoryLedger]:
    reopens = all(kwargs.get(name) is None for name in _NOT_FOR_CHILDREN)
    return EventLoopThread(partial(MemoryLedger.open, *args, **kwargs), reopens=reopens)
