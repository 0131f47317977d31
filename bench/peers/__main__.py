"""Measure Memory Ledger beside other stores of agent memory; write their table into docs/benchmarks.md.

``--quick`` appends little and does not write.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Final

from rich.console import Console
from rich.table import Table

from bench import page
from bench.databases import Databases
from bench.peers.comparing import PLAIN, Compared, cells, compare
from bench.peers.memories import Memory, Peer
from bench.setting import Setting

_HEAD: Final = (
    "store",
    "version",
    "append p50",
    "8 writers, 8 sessions",
    "8 writers, 1 session",
    "lost",
    "missed by a follower",
)


def _peers() -> tuple[Peer, ...]:
    from bench.peers import (  # noqa: PLC0415 - installed by `make bench-peers` only
        adk_sessions,
        eventsourcing_application,
        langchain_history,
        langgraph_saver,
        openai_session,
        ours,
    )

    return (
        Peer(PLAIN, ("psycopg",), ours.plain),
        Peer("Memory Ledger", ("memory-ledger",), ours.ledger),
        Peer("langchain-postgres, PostgresChatMessageHistory", ("langchain-postgres",), langchain_history.opened),
        Peer("eventsourcing, Application", ("eventsourcing",), eventsourcing_application.opened),
        Peer("OpenAI Agents, SQLAlchemySession", ("openai-agents",), openai_session.opened),
        Peer("Google ADK, DatabaseSessionService", ("google-adk",), adk_sessions.opened),
        Peer("LangGraph, AsyncPostgresSaver", ("langgraph", "langgraph-checkpoint-postgres"), langgraph_saver.opened),
    )


async def _measure(peers: tuple[Peer, ...], urls: list[tuple[str, str]], *, quick: bool) -> dict[str, Compared]:
    faults: dict[str, Compared] = {}
    memories: dict[str, Memory] = {}
    texts: Callable[[], str] = Setting("", "").text
    async with AsyncExitStack() as opened:
        for peer, (url, app_url) in zip(peers, urls, strict=True):
            try:
                memories[peer.name] = await opened.enter_async_context(peer.opened(url, app_url))
            except Exception as fault:  # noqa: BLE001 - it is shown in the line of this store
                faults[peer.name] = Compared(fault=f"{type(fault).__name__}: {fault}")
        found = await compare(memories, texts, rounds=1 if quick else 3, each=5 if quick else 25)
    return {**found, **faults}


def main() -> None:
    """Run all stores; exit with 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="append little, to try it out; figures mean nothing")
    chosen = parser.parse_args()
    peers = _peers()
    with Databases.temporary() as databases, ExitStack() as made:
        urls = [made.enter_context(databases.fresh(f"peer_{number}")) for number in range(len(peers))]
        found = asyncio.run(_measure(peers, urls, quick=chosen.quick))
    lines = [cells(peer.name, peer.version, found) for peer in peers]
    table = Table(*_HEAD)
    for line in lines:
        table.add_row(*line)
    Console().print(table)
    if not chosen.quick:
        rows = [_HEAD, ("---", "---", "---:", "---:", "---:", "---:", "---:"), *lines]
        page.write({"peers": "".join(f"| {' | '.join(row)} |\n" for row in rows)})
    sys.exit(1 if any(compared.fault for compared in found.values()) else 0)


if __name__ == "__main__":
    main()
