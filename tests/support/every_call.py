"""Check that each call may fail, one after the other. Source: trust P-11, F-10."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import NamedTuple, TypeAlias

from ledger.errors import CompactionNotCompleted, Unavailable
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.support.ledgers import ledger_over
from tests.support.operations import SMALL, Operation
from tests.support.whole_log import assert_whole


class Failing(NamedTuple):
    """A store of which one call fails, and whether it did yet."""

    store: Store
    failed: Callable[[], bool]


#: Opens the same store again and again, the n-th call to it failing.
FailingAt: TypeAlias = Callable[[int], AbstractAsyncContextManager[Failing]]


@asynccontextmanager
async def opened(store: Store, namespace: str) -> AsyncIterator[MemoryLedger]:
    """Yield a ledger that treats an unfinished compaction as abandoned at once, and close it."""
    ledger = ledger_over(store, namespace=namespace, config=SMALL, compaction_lease_s=0.0)
    try:
        yield ledger
    finally:
        await ledger.close()


async def check_every_call(operation: Operation, sound: Store, failing_at: FailingAt, namespace: str) -> int:
    """Let the first call fail, then the second, … until the operation needs no more; return how many it needs.

    After each, another ledger looks at the log, and the same client tries again.
    """
    for n in count(1):
        here = f"{namespace}-{n}"
        async with opened(sound, here) as other:
            await operation.prepare(other)
        async with failing_at(n) as failing, opened(failing.store, here) as client:
            fault = await _attempt(operation, client)
            if not failing.failed():
                assert fault is None
                return n - 1
            times = await _times(operation, sound, here)
            assert times in ({0, 1} if fault else {1}), f"done {times} times, and told {fault!r}"
            assert times == 0 or not isinstance(fault, CompactionNotCompleted), "told that nothing left the window"
            assert await _attempt(operation, client) is None
            times = await _times(operation, sound, here)
            assert times == 1, f"done {times} times after a retry; first told {fault!r}"
    raise AssertionError("unreachable")


async def _attempt(operation: Operation, client: MemoryLedger) -> Unavailable | None:
    try:
        await operation.execute(client)
    except Unavailable as fault:
        return fault
    finally:
        await client.settle()
    return None


async def _times(operation: Operation, sound: Store, namespace: str) -> int:
    async with opened(sound, namespace) as other:
        times = await operation.times(other)
    await assert_whole(sound, namespace, [])
    return times
