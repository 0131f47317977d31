"""A process that runs the agent and is killed in its tool. Arguments: database URL, namespace, model URL."""

import asyncio
import os
import signal
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.tools import ToolContext

from ledger.adapters.google_adk import LedgerSessionService
from tests.adapters.google_adk.agents import APP, ServedModel, say


def weather(city: str, tool_context: ToolContext) -> str:
    """Die before the answer."""
    os.kill(os.getpid(), signal.SIGKILL)
    return city


async def main(url: str, namespace: str, model: str) -> None:
    """Run until the tool."""
    async with LedgerSessionService(url, namespace=namespace, allow_unsafe=True) as service:
        agent = LlmAgent(name="guide", model=ServedModel(url=model), tools=[weather])
        await say(Runner(app_name=APP, agent=agent, session_service=service, auto_create_session=True), "Weather?")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
