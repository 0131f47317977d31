"""The inspector of the Model Context Protocol, another client, written in TypeScript, over both transports.

It is fetched from npm when these tests run, into a folder that git ignores; `make test-adapters` runs them.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ledger.memory import MemoryLedger
from tests.support.command_process import COMMAND, environment
from tests.support.mcp_service import mcp_service

pytestmark = [pytest.mark.postgres, pytest.mark.processes, pytest.mark.adapters_upstream]

PACKAGE = "@modelcontextprotocol/inspector@0.15.0"
FETCHED = Path(__file__).parents[3] / ".upstream" / "inspector"


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The command, fetched unless it is there."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: the inspector of the Model Context Protocol was not run")
    command = FETCHED / "node_modules" / ".bin" / "mcp-inspector"
    if not command.exists():
        FETCHED.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--silent"]
        subprocess.run([npm, "install", *options, "--prefix", str(FETCHED), PACKAGE], check=True, timeout=280)
    return [str(command), "--cli"]


def asked(inspector: list[str], *arguments: str) -> dict[str, Any]:
    """Return what the inspector prints."""
    done = subprocess.run(
        [*inspector, *arguments], env=environment(), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


async def test_the_inspector_lists_calls_and_reads_over_both_transports__MC_7(
    inspector: list[str], app_url: str, namespace: str, memory: MemoryLedger
) -> None:
    await memory.add_user_message("s", "The order number is 8812.")
    stdio = [str(COMMAND), "mcp", "--database-url", app_url, "--namespace", namespace]
    with mcp_service(app_url, namespace) as url:
        for target in (stdio, [f"{url}/mcp", "--transport", "http"]):
            tools = asked(inspector, *target, "--method", "tools/list")["tools"]
            assert len(tools) == 15
            assert all("outputSchema" in tool and "annotations" in tool for tool in tools)
            calling = ["--method", "tools/call", "--tool-name", "search_memory", "--tool-arg", "query=order number"]
            called = asked(inspector, *target, *calling)
            assert [each["text"] for each in called["structuredContent"]["results"]] == ["The order number is 8812."]
            reading = ["--method", "resources/read", "--uri", "ledger://sessions/s/transcript"]
            (content,) = asked(inspector, *target, *reading)["contents"]
            assert json.loads(content["text"])["transcript"][0]["text"] == "The order number is 8812."
