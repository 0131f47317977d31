"""The command ``memory-ledger mcp --http``: the whole service, with the process that answers heavy requests."""

import asyncio
import json

import pytest
from mcp.client import Client

from ledger.memory import MemoryLedger
from tests.adapters.mcp.conftest import call, refused, said
from tests.support import http_client
from tests.support.command_process import environment, run
from tests.support.mcp_service import mcp_service

pytestmark = [pytest.mark.postgres, pytest.mark.processes]


async def test_heavy_tools_and_large_writes_are_answered_too(
    app_url: str, namespace: str, memory: MemoryLedger
) -> None:
    """trust S-17: the process that answers heavy requests answers the same."""
    with mcp_service(app_url, namespace) as url:
        async with Client(f"{url}/mcp") as client:
            large = ["word " * 60_000, "second"]  # more than what this process parses itself
            await call(client, "add_memory", session_id="s", entries=said(*large))
            tried = await call(client, "what_if", session_id="s", config={"profile": "none"}, max_tokens=500)
            assert tried["next_cursor"] is not None
            compared, verdict = await asyncio.gather(
                call(client, "compare", session_id="s", before_version=2, max_tokens=500),
                call(client, "verify"),
            )
            assert [change["text"] for change in compared["changes"]] == ["second"]
            assert verdict["ok"]
            restored = await call(client, "restore_session", session_id="s", version=2)
            shown = await call(client, "get_context", session_id="s", max_tokens=100_000)
            assert (shown["version"], len(shown["items"])) == (restored["version"], 1)
            assert (await refused(client, "what_if", session_id="none")).startswith("session_not_found: ")
        heavy = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "verify", "arguments": {}},
        }
        accepts = {**http_client.JSON, "accept": "application/json", "origin": "https://evil.example"}
        answer = http_client.post(f"{url}/mcp", content=json.dumps(heavy), headers=accepts)
        assert answer.json()["code"] == "foreign_origin", "also there"
    assert len((await memory.get_history("s")).entries) >= 2


async def test_read_only_is_an_option(app_url: str, namespace: str) -> None:
    with mcp_service(app_url, namespace, "--read-only") as url:
        async with Client(f"{url}/mcp") as client:
            assert (await refused(client, "add_memory", session_id="s", entries=said("a"))).startswith("unknown_tool: ")
            assert (await call(client, "list_sessions"))["sessions"] == []


def test_other_machines_are_not_served_without_authentication__MC_6(app_url: str) -> None:
    done = run("mcp", "--http", "0", "--database-url", app_url, env=environment(MEMORY_LEDGER_HOST="0.0.0.0"))
    assert done.returncode == 2
    assert "unsafe_address" in done.stderr or "must be a loopback address without authentication" in done.stderr
