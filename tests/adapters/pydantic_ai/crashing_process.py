"""A process that runs the agent and is killed in its tool. Arguments: database URL, namespace, model URL."""

import asyncio
import os
import signal
import sys

from pydantic_ai import Agent

from ledger.adapters.pydantic_ai import LedgerHistory
from tests.adapters.pydantic_ai.agents import model_of


async def main(url: str, namespace: str, model: str) -> None:
    """Run until the tool is called, and die there."""
    async with LedgerHistory(url, namespace=namespace) as history:
        agent = Agent(model_of(model), capabilities=[history])

        @agent.tool_plain
        def weather(city: str) -> str:
            os.kill(os.getpid(), signal.SIGKILL)
            return city

        await agent.run("Weather?", conversation_id="t")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
