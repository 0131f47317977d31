"""The same memory without ``await``: each method runs on an event loop in its own thread.

    with SyncMemoryLedger.open() as ledger:
        ledger.add_user_message("session-1", "How do I add auth?")

The methods are those of `MemoryLedger` and `LongTermMemory`; ``sync.pyi``, which is generated, lists them for editors
and type checkers.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any

from anyio import to_thread

from ledger.blocking import Blocking, described
from ledger.event_loop_thread import EventLoopThread
from ledger.long_term_memory import LongTermMemory
from ledger.memory import MemoryLedger

#: Arguments of `open` that a forked child cannot use again: they may have connections.
_NOT_FOR_CHILDREN = ("store", "summarizer", "embedder")


class SyncLongTermMemory(Blocking, of=LongTermMemory, without=frozenset({"over", "writes_for_promotion"})):
    """`LongTermMemory`, method by method; may be used from several threads."""


class SyncMemoryLedger(Blocking, of=MemoryLedger, without=frozenset({"close"})):
    """`MemoryLedger`, method by method; may be used from several threads.

    In a forked child it opens again automatically, with the same settings. If it was given a store, summarizer,
    embedder or handler, it raises `Unavailable` there: open one in each process.

    An ``async`` handler or summarizer runs on the ledger's own event loop and cannot call this ledger; an ordinary
    function can. When the program ends, a ledger that is still open is closed.
    """

    _personal = frozenset({"on", "set_summarizer"})

    @classmethod
    @contextmanager
    @described(MemoryLedger.open)
    def open(cls, *args: Any, **kwargs: Any) -> "Iterator[SyncMemoryLedger]":  # noqa: D102 - described
        reopens = all(kwargs.get(name) is None for name in _NOT_FOR_CHILDREN)
        with EventLoopThread(partial(MemoryLedger.open, *args, **kwargs), reopens=reopens) as thread:
            yield cls(thread)

    @described(MemoryLedger.on)
    def on(self, event: Any, handler: Callable[..., object]) -> Callable[[], None]:  # noqa: D102 - described
        async def in_a_thread(*about: object) -> None:
            outcome = await to_thread.run_sync(handler, *about)
            if inspect.isawaitable(outcome):
                await outcome

        end = self._call("on", event, in_a_thread if callable(handler) else handler)
        loop = self._thread.loop()
        return lambda: loop.call(end)

    @property
    def long_term(self) -> SyncLongTermMemory:
        """Long-term memory: the records of this namespace, which outlive sessions."""
        return SyncLongTermMemory(self._thread, attrgetter("long_term"))
