"""Real sessions of the Claude Agent SDK: its program, fetched from npm, a tool, and a model server on loopback.

`make test-adapters` runs them. Source: adapters CL-1 … CL-6, AD-13.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from ledger.adapters.claude_agent import LedgerSessionStore
from ledger.memory import MemoryLedger
from ledger.stores.postgres import PostgresStore
from tests.adapters.claude_agent.program import reads, run
from tests.support.model_endpoint import Endpoint, hang

pytestmark = [pytest.mark.postgres, pytest.mark.processes, pytest.mark.adapters_upstream]

ROOT = Path(__file__).parents[3]
PACKAGE = "@anthropic-ai/claude-code@2.1.330"
FETCHED = ROOT / ".upstream" / "claude-code"


@pytest.fixture(scope="module")
def program() -> str:
    """The program, fetched unless it is there."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: the program of the Claude Agent SDK was not run")
    if not FETCHED.exists():
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--silent"]
        subprocess.run([npm, "install", *options, "--prefix", str(FETCHED), PACKAGE], check=True, timeout=280)
    found = sorted(FETCHED.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    if not found:
        pytest.skip(f"{PACKAGE} has no program for this machine")
    return str(found[0])


@pytest.fixture
async def own_ledger(postgres_store: PostgresStore, namespace: str) -> AsyncIterator[MemoryLedger]:
    """A ledger on PostgreSQL, of the test's own loop."""
    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as opened:
        yield opened


class Scene:
    """A session of the program: *say* runs it for one prompt, in an empty home, so only the store remembers."""

    def __init__(self, store: LedgerSessionStore, program: str, model: Endpoint, folder: Path) -> None:
        self.store, self.program, self.model, self.folder = store, program, model, folder
        self.id = str(uuid5(NAMESPACE_URL, str(folder)))
        self.note = folder / "work" / "note.txt"
        self.note.parent.mkdir()
        self.note.write_text("Order 8812 has shipped.\n")
        self.begun = False

    async def say(self, prompt: str, session: str | None = None) -> str:
        resumes, self.begun = self.begun, True
        return await run(
            self.store, self.program, self.model.url, self.folder, session or self.id, prompt, resumes=resumes
        )

    async def key(self) -> dict[str, Any]:
        (row,) = [row for row in await self.store.ledger.list_sessions() if row.session_id == self.id]
        return {"project_key": row.user_id, "session_id": self.id}


@pytest.fixture
def scene(own_ledger: MemoryLedger, sdk: Any, program: str, model: Endpoint, tmp_path: Path) -> Scene:
    """A session that was not begun, and a model that reads a file before it answers."""
    found = Scene(LedgerSessionStore(ledger=own_ledger), program, model, tmp_path)
    model.answers(reads(found.note, "It has shipped."))
    return found


def texts(lines: Any, kind: str) -> list[str]:
    """Return what the lines of a type say, without calls and results."""
    said = []
    for line in lines:
        content = line["message"]["content"] if line["type"] == kind else []
        said += [content] if isinstance(content, str) else [block["text"] for block in content if "text" in block]
    return said


async def test_a_session_goes_on_from_the_store_alone(scene: Scene, own_ledger: MemoryLedger) -> None:
    assert await scene.say("Where is my order?") == "It has shipped."
    assert await scene.say("And when?") == "It has shipped."
    asked = scene.model.asked[-1]["messages"]
    assert "Order 8812 has shipped." in str(asked[:4])  # what the tool found in the first run
    key = await scene.key()
    names: Any = {"user_id": key["project_key"]}
    entries = await own_ledger.get_transcript(scene.id, **names)
    calls = [entry for entry in entries if entry.kind == "tool_call"]
    results = [entry for entry in entries if entry.kind == "tool_result"]
    assert [call.tool_name for call in calls] == ["Read", "Read"]
    assert [result.tool_call_id for result in results] == [call.tool_call_id for call in calls]
    assert (await own_ledger.verify(scene.id, **names)).ok
    assert (await own_ledger.seen(scene.id, **names)).verdict == "not_recorded"  # the program asks the model itself
    context = await own_ledger.get_context(scene.id, record=True, **names)
    assert context.entries[-1].content
    assert (await own_ledger.seen(scene.id, **names)).verdict == "proved"


async def test_what_if_and_fork_of_a_session(scene: Scene, own_ledger: MemoryLedger) -> None:
    await scene.say("Where is my order?")
    key = await scene.key()
    before = await scene.store.version_of(key)
    await scene.say("And when?")
    names: Any = {"user_id": key["project_key"]}
    tried = await own_ledger.what_if(scene.id, {"window": {"type": "max_tokens", "memory_max_tokens": 40}}, **names)
    assert tried.version == await scene.store.version_of(key)
    other = str(uuid5(NAMESPACE_URL, scene.id))
    fork = await scene.store.fork(key, other, version=before)
    assert await scene.store.load(fork) == await scene.store.at(version=before).load(key)
    assert await scene.say("And where to?", other) == "It has shipped."
    forked, first = await scene.store.load(fork), await scene.store.load(key)
    assert "And where to?" in texts(forked, "user")
    assert "And when?" not in str(forked)
    assert "And where to?" not in str(first)


async def test_ten_runs_at_once_lose_nothing(scene: Scene) -> None:
    await scene.say("Where is my order?")
    prompts = [f"And parcel {number}?" for number in range(10)]
    assert await asyncio.gather(*map(scene.say, prompts)) == ["It has shipped."] * 10
    lines = await scene.store.load(await scene.key())
    assert lines is not None
    assert sorted(prompt for prompt in prompts if prompt in texts(lines, "user")) == prompts
    assert texts(lines, "assistant").count("It has shipped.") == 11
    place = {line["uuid"]: at for at, line in enumerate(lines) if "uuid" in line}
    assert all(place[line["parentUuid"]] < at for at, line in enumerate(lines) if line.get("parentUuid") in place)


async def test_a_run_that_was_killed_goes_on(scene: Scene, source: Path, url: str, namespace: str) -> None:
    await scene.say("Where is my order?")
    before = await scene.store.load(await scene.key())
    scene.model.answers(hang)
    scene.model.arrived.clear()
    module = "tests.adapters.claude_agent.program"
    arguments = [str(source), scene.program, url, namespace, scene.model.url]
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments, str(scene.folder), scene.id, "And when?"),
        cwd=ROOT,
        start_new_session=True,
    )
    assert await asyncio.to_thread(scene.model.arrived.wait, 60)
    os.killpg(running.pid, signal.SIGKILL)
    assert await running.wait() == -signal.SIGKILL
    after = await scene.store.load(await scene.key())
    assert before is not None
    assert after is not None
    assert after[: len(before)] == before
    scene.model.answers(reads(scene.note, "It has shipped."))
    assert await scene.say("Are you there?") == "It has shipped."
    assert "Where is my order?" in str(scene.model.asked[-1]["messages"])
