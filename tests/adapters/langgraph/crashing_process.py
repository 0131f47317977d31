"""A process that runs the agent and is killed in its tool. Arguments: database URL, namespace, model URL, a file."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.graphs import agent, human


async def main(url: str, namespace: str, model: str, file: str) -> None:
    """Run until the second answer of the model, and die there."""
    async with LedgerSaver.open(url, namespace) as saver:
        graph = agent(model).compile(checkpointer=saver)
        async for step in graph.astream(
            human("Weather in Paris?"), {"configurable": {"thread_id": "t"}}, durability="sync"
        ):
            if "tool" in step:
                Path(file).write_text("tool")  # noqa: ASYNC240 - the process ends here
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
