"""A program that opens a ledger, forks, and uses it in both processes.

    python -m tests.support.forking_process HOW WHAT [URL]

HOW is how it forks, WHAT the ledger it uses. It prints what child and parent saw.
"""

import asyncio
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ledger import InMemoryStore, MemoryLedger, SyncMemoryLedger
from ledger.errors import Unavailable


def use(ledger: SyncMemoryLedger) -> None:
    """Write and read in the child."""
    try:
        ledger.add_user_message("s", "child")
        contents = [entry.content for entry in ledger.get_active_entries("s")]
        print("child:", *contents, len(list(ledger.export_file("s"))) > 1, flush=True)
    except Unavailable as fault:
        print("child:", fault, flush=True)


def forked(how: str, work: Callable[[], None]) -> int:
    """Run *work* in a child, and return its exit code."""
    if how == "multiprocessing":
        process = multiprocessing.get_context("fork").Process(target=work)
        process.start()
        process.join()
        return process.exitcode or 0
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    work()
    sys.exit(0)  # through all that is open


def sync(how: str, what: str, url: str) -> None:
    """Open without ``await``."""
    options: dict[str, Any] = {"store": InMemoryStore()} if what == "store" else {"database_url": url}
    with SyncMemoryLedger.open(namespace=f"fork-{os.getpid()}", **options) as ledger:
        if what == "handler":
            ledger.on("compressed", lambda session, result: None)
        ledger.add_user_message("s", "parent")
        for _ in range(2):
            print("exit:", forked(how, lambda: use(ledger)), flush=True)
        ledger.add_user_message("s", "parent")
        print("parent:", *(entry.content for entry in ledger.get_active_entries("s")), ledger.verify().ok)


async def asynchronous(url: str) -> None:
    """Open with ``await``, and fork in the middle of it."""
    opening = MemoryLedger.open(url, f"fork-{os.getpid()}")
    async with opening as ledger:
        await ledger.add_user_message("s", "parent")
        pid = os.fork()
        if not pid:
            try:
                await ledger.add_user_message("s", "child")
            except Unavailable as fault:
                print("child:", fault, flush=True)
            await opening.__aexit__(None, None, None)
            print("child: closed", flush=True)
            os._exit(0)  # a child cannot leave the parent's event loop in any other way
        print("exit:", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)  # noqa: ASYNC222 - nothing else runs
        await ledger.add_user_message("s", "parent")
        print("parent:", *(entry.content for entry in await ledger.get_active_entries("s")))


if __name__ == "__main__":
    # from Python 3.12 on: the parent has the thread of the ledger, which is what is tried here
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    how, what, *rest = sys.argv[1:]
    if what == "async":
        asyncio.run(asynchronous(rest[0]))
    else:
        sync(how, what, *(rest or [""]))
