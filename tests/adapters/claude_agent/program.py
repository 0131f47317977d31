"""The program of the Claude Agent SDK against a model server on loopback. Started by itself it runs one prompt.

Arguments: the SDK's source, the program, database URL, namespace, model URL, folder, session id, prompt.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from ledger.adapters.claude_agent import LedgerSessionStore
from tests.support.model_endpoint import Behaviour, Exchange

PROJECT = "-work"


def reads(file: Path, answer: str) -> Behaviour:
    """Ask to read *file* and, once it was read, say *answer*."""

    def behave(exchange: Exchange) -> None:
        last = exchange.asked["messages"][-1]["content"]
        was_read = isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)
        if was_read:
            _stream(exchange, {"type": "text", "text": ""}, {"type": "text_delta", "text": answer}, "end_turn")
        else:
            call = {"type": "tool_use", "id": f"toolu_{len(exchange.endpoint.asked)}", "name": "Read", "input": {}}
            given = {"type": "input_json_delta", "partial_json": json.dumps({"file_path": str(file)})}
            _stream(exchange, call, given, "tool_use")

    return behave


def _stream(exchange: Exchange, block: dict[str, Any], delta: dict[str, Any], reason: str) -> None:
    """Answer with one block, as the Messages API streams it."""
    message = {
        "id": f"msg_{len(exchange.endpoint.asked)}",
        "type": "message",
        "role": "assistant",
        "model": exchange.asked["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    exchange.send_response(200)
    exchange.send_header("Content-Type", "text/event-stream")
    exchange.send_header("Content-Length", str(len(body)))
    exchange.end_headers()
    exchange.wfile.write(body)


async def run(
    store: LedgerSessionStore, program: str, model: str, folder: Path, session: str, prompt: str, *, resumes: bool
) -> str:
    """Run the program for one prompt, with a home of its own that is empty; return its answer."""
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query  # noqa: PLC0415 - fetched by the tests

    home = Path(tempfile.mkdtemp(dir=folder))
    environment = {
        "ANTHROPIC_BASE_URL": model.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / "config"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    work = folder / "work"
    work.mkdir(exist_ok=True)
    options = ClaudeAgentOptions(
        session_store=store,
        cli_path=program,
        cwd=work,
        model="claude-sonnet-4-5",
        allowed_tools=["Read"],
        setting_sources=[],
        env=environment,
        **({"resume": session} if resumes else {"session_id": session}),
    )
    answer = ""
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            answer = str(message.result)
    return answer


async def main(source: str, program: str, url: str, namespace: str, model: str, *rest: str) -> None:
    """Go on with a session, in a process that may be killed."""
    sys.path.insert(0, str(Path(source) / "src"))
    folder, session, prompt = rest
    async with LedgerSessionStore(url, namespace=namespace) as store:
        await run(store, program, model, Path(folder), session, prompt, resumes=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
