"""A process that runs the agent and is killed in its tool. Arguments: database URL, namespace, model URL."""

import asyncio
import os
import signal
import sys

from ledger.adapters.langchain import LedgerMiddleware
from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langchain.agents import weather_agent


def weather(city: str) -> str:
    """Return the weather of a city."""
    os.kill(os.getpid(), signal.SIGKILL)
    return city


async def main(url: str, namespace: str, model: str) -> None:
    """Run until the tool is called, and die there."""
    async with LedgerSaver.open(url, namespace) as saver, LedgerMiddleware(url, namespace=namespace) as middleware:
        agent = weather_agent(model, middleware, tools=[weather], checkpointer=saver)
        await agent.ainvoke(
            {"messages": [("user", "Weather?")]}, {"configurable": {"thread_id": "t"}}, durability="sync"
        )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
