"""The examples of the page about Google ADK run as they stand there. Source: adapters GA-1."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ledger.stores.embedded.server import EmbeddedServer
from tests.adapters.google_adk import NOT_INSTALLED
from tests.support.databases import server_folder
from tests.support.pages import Block, blocks

pytest.importorskip("google.adk.sessions", reason=NOT_INSTALLED)

from google.adk.cli.service_registry import load_services_module
from google.adk.cli.utils.service_factory import create_session_service_from_options
from google.adk.events import Event, EventActions
from google.adk.sessions import InMemorySessionService, Session

from ledger.adapters.google_adk import LedgerSessionService

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "adapters" / "google-adk.md"


def python_blocks() -> list[Block]:
    return [block for block in blocks(PAGE) if block.language == "python"]


@pytest.mark.postgres
@pytest.mark.processes
def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    example = python_blocks()[0]
    (tmp_path / "example.py").write_text(example.text)
    with server_folder() as folder:
        own = {"MEMORY_LEDGER_DATA_DIR": str(folder / "data"), "MEMORY_LEDGER_EMBEDDED_IDLE_S": "0"}
        done = subprocess.run(
            [sys.executable, "example.py"],
            cwd=tmp_path,
            env={**os.environ, **own, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        EmbeddedServer(folder / "data").stop()
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == ["You said: Where is my order?", "0"]
    assert done.stdout.splitlines()[-1] == "True"


def test_the_services_file_of_the_page_makes_the_service_of_adk_web(tmp_path: Path) -> None:
    services = python_blocks()[1]
    assert services.title == "services.py"
    (tmp_path / services.title).write_text(services.text)
    load_services_module(str(tmp_path))
    made = create_session_service_from_options(base_dir=tmp_path, session_service_uri="ledger://")
    assert isinstance(made, LedgerSessionService)


async def test_the_sessions_of_another_service_are_moved_as_the_page_says(service: LedgerSessionService) -> None:
    own: dict[str, Any] = {}
    exec(python_blocks()[2].text, own)
    old = InMemorySessionService()
    names = {"app_name": "shop", "user_id": "mara"}
    first, second = [await old.create_session(**names, session_id=each, state={"user:a": 0}) for each in "ab"]
    changes: list[tuple[Session, dict[str, Any]]] = [
        (first, {"user:x": 1, "b": "one"}),
        (second, {"user:x": 2}),
        (first, {"app:y": 3}),
    ]
    for at, (session, changed) in enumerate(changes):
        event = Event(author="user", timestamp=float(at), actions=EventActions(state_delta=changed))
        await old.append_event(session, event)
    await own["move"](old, service, "shop")
    for name in "ab":
        was = await old.get_session(**names, session_id=name)
        now = await service.get_session(**names, session_id=name)
        assert was is not None
        assert now is not None
        assert now.model_dump() == was.model_dump()
        assert now.state["user:x"] == 2
