"""A process that runs the agents and is killed in the tool. Arguments: database URL, namespace, model URL."""

import asyncio
import os
import signal
import sys

from agents import function_tool

from ledger.adapters.openai_agents import MemoryLedgerSession
from tests.adapters.openai_agents.agents_on_server import run, travel_agents


@function_tool
def weather(city: str) -> str:
    """Tell the weather, or rather die."""
    os.kill(os.getpid(), signal.SIGKILL)
    return city


async def main(url: str, namespace: str, model: str) -> None:
    """Run until the tool is called, and die there."""
    session = MemoryLedgerSession("t", url, namespace=namespace)
    await run(travel_agents(model, tool=weather), "Paris", session)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
