"""A process of its own that writes to two sessions at once and prints each write that was stored; the tests kill it.

Arguments: database URL, namespace, and whether it uses ``write_sessions``.
"""

import asyncio
import itertools
import sys

from ledger.memory import MemoryLedger


async def work(url: str, namespace: str, *, jointly: bool) -> None:
    """Write until killed."""
    numbers = itertools.count()
    async with MemoryLedger.open(url, namespace, allow_unsafe=True) as ledger:

        async def writer() -> None:
            for number in numbers:
                entry = {"kind": "message", "role": "user", "content": f"write {number}"}
                if jointly:
                    await ledger.write_sessions([{"session_id": name, "entries": [entry]} for name in ("a", "b")])
                else:
                    await ledger.add_entries("a", [entry])
                    await ledger.add_entries("b", [entry])
                print(number, flush=True)

        await asyncio.gather(*(writer() for _ in range(4)))


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:3], jointly=sys.argv[3] == "jointly"))
