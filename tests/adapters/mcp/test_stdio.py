"""The command ``memory-ledger mcp`` as a client starts it: a process of its own, spoken to over its pipes."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import MCPError, StdioServerParameters
from mcp.client import Client

from ledger.adapters.mcp import server
from ledger.memory import MemoryLedger
from ledger.results import Added
from tests.adapters.mcp.conftest import call, refused, said
from tests.support.command_process import COMMAND, environment

pytestmark = [pytest.mark.postgres, pytest.mark.processes]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool_call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.fixture
def command(app_url: str, namespace: str) -> list[str]:
    return [str(COMMAND), "mcp", "--database-url", app_url, "--namespace", namespace]


@asynccontextmanager
async def connected(command: list[str], *more: str, mode: str = "auto") -> AsyncIterator[Client]:
    """Yield a client that started *command*."""
    parameters = StdioServerParameters(command=command[0], args=[*command[1:], *more], env=environment())
    async with Client(parameters, mode=mode) as client:
        yield client


def exchanged(command: list[str], *requests: dict[str, Any] | bytes) -> subprocess.CompletedProcess[bytes]:
    """Send *requests*, close the input, and return what the process printed."""
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in requests]
    return subprocess.run(
        command, input=b"\n".join(lines) + b"\n", capture_output=True, check=False, timeout=60, env=environment()
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_writes_and_reads_over_stdio_in_two_revisions__MC_7(command: list[str], mode: str) -> None:
    async with connected(command, mode=mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        await call(client, "add_memory", session_id="s", entries=said("hello"))
        assert [item["text"] for item in (await call(client, "get_context", session_id="s"))["items"]] == ["hello"]
        events = await client.read_resource("ledger://sessions/s/events")
        assert '"actor":"mcp"' in getattr(events.contents[0], "text", "")
        assert (await refused(client, "get_history", session_id="none")).startswith("session_not_found: ")
    async with connected(command, "--read-only", mode=mode) as client:
        assert "add_memory" not in {tool.name for tool in (await client.list_tools()).tools}
        assert (await call(client, "get_context", session_id="s"))["version"] == 2


def test_there_is_nothing_but_the_protocol_on_standard_output__MC_6(command: list[str]) -> None:
    requests = [
        INITIALIZE,
        READY,
        tool_call(2, "add_memory", session_id="s", entries=said("hello")),
        tool_call(3, "get_context", session_id="s", version=99),
        tool_call(4, "nothing"),
        {"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "ledger://sessions/x/y"}},
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join([b"this is not JSON", *(json.dumps(each).encode() for each in requests), b""]))
        process.stdin.flush()
        answers: list[dict[str, Any]] = []
        while {answer.get("id") for answer in answers} < {1, 2, 3, 4, 5}:
            answers.append(json.loads(process.stdout.readline()))
        rest, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert rest == b""
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    for line in errors.splitlines():
        assert "hello" not in json.loads(line)["event"], "logs have no content"


def test_without_a_database_it_says_why_and_answers_nothing(command: list[str]) -> None:
    wrong = [*command[:3], "postgresql://nobody@127.0.0.1:1/none"]
    done = exchanged(wrong, INITIALIZE)
    assert (done.returncode, done.stdout) == (1, b"")
    assert len(done.stderr.splitlines()) == 1


def test_without_the_extra_it_says_which_to_install(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    for more in ([], ["--http", "0"]):
        done = subprocess.run(
            [*command, *more],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=environment(PYTHONPATH=path),
        )
        assert done.returncode == 1, done
        assert "install memory-ledger[mcp]" in done.stderr


def test_without_the_extra_the_service_has_no_such_route_unless_it_is_asked_for() -> None:
    program = """
import sys
sys.modules["mcp"] = None
from ledger.server.mcp_routes import mcp_routes
from ledger.server.service_settings import load_service_settings
print(mcp_routes(load_service_settings()), mcp_routes(load_service_settings(mcp="off")))
mcp_routes(load_service_settings(mcp="on"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment()
    )
    assert done.stdout == "[] []\n"
    assert "install memory-ledger[mcp]" in done.stderr.splitlines()[-1]


def test_importing_the_ledger_and_its_service_imports_no_sdk() -> None:
    """adapters AD-1."""
    modules = "ledger.memory, ledger.adapters, ledger.server.application, ledger.cli.server_commands"
    program = f"import {modules}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment()
    )
    assert "ledger.server.mcp_routes" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.partition(".")[0] in {"mcp", "mcp_types", "agents"}]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_although_its_input_is_open(command: list[str], number: signal.Signals) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(10) == 128 + number


def lost(acknowledged: Iterable[str], stored: Iterable[str]) -> set[str]:
    """Return the texts that a client was told are stored, and that are not."""
    return set(acknowledged) - set(stored)


async def test_a_server_that_acknowledges_too_early_is_noticed(
    memory: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: an end in the middle loses what was acknowledged before it was stored."""
    stores = type(memory).add_entries
    later: list[asyncio.Task[Any]] = []

    async def early(self: MemoryLedger, session_id: str, entries: list[Any], **how: Any) -> Added:
        async def store() -> None:
            await asyncio.sleep(0.05)
            await stores.__get__(self)(session_id, entries, **how)

        later.append(asyncio.create_task(store()))
        return Added(session_id=session_id, version=1, entries=())

    monkeypatch.setattr(type(memory), "add_entries", early)
    await memory.add_user_message("s", "first")
    acknowledged = []
    async with Client(server(memory)) as client:
        for number in range(10):
            await call(client, "add_memory", session_id="s", entries=said(str(number)))
            acknowledged.append(str(number))
    for task in later:
        task.cancel()
    await asyncio.gather(*later, return_exceptions=True)
    assert lost(acknowledged, [entry.content for entry in (await memory.get_history("s")).entries])


async def test_a_server_killed_in_the_middle_loses_nothing_acknowledged__MC_7(
    command: list[str], memory: MemoryLedger, seed: int
) -> None:
    acknowledged: list[str] = []
    chance = random.Random(seed)

    async def write(client: Client, name: str) -> None:
        for number in range(10_000):
            added = await client.call_tool(
                "add_memory", {"session_id": "s", "entries": said(f"{name}-{number}", f"{name}-{number}")}
            )
            assert not added.is_error, added.content
            acknowledged.append(f"{name}-{number}")

    for killed in range(3):
        before = {child.pid for child in psutil.Process().children()}
        with suppress(MCPError, ExceptionGroup):  # what the SDK raises as it closes depends on what it was doing
            async with asyncio.timeout(90), connected(command) as client:
                (own,) = [child for child in psutil.Process().children() if child.pid not in before]
                writers = [asyncio.create_task(write(client, f"{killed}-{writer}")) for writer in range(4)]
                wanted = len(acknowledged) + chance.randint(8, 40)
                while len(acknowledged) < wanted:  # noqa: ASYNC110 - a test may poll
                    await asyncio.sleep(0.001)
                own.kill()
                results = await asyncio.gather(*writers, return_exceptions=True)
                assert all(isinstance(result, MCPError) for result in results), results
    assert len(acknowledged) >= 24, "the control: something was written"
    stored = [entry.content for entry in (await memory.get_history("s")).entries]
    assert not lost(acknowledged, stored)
    assert all(stored.count(text) == 2 for text in set(stored)), "a batch is there as a whole, or not at all"
    assert (await memory.verify("s")).ok
