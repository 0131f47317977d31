"""Commands that change settings bring no expired session back in silence. Source: http W-60."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ledger.cli.app import app
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> InMemoryStore:
    """A store in memory, in which a session ``s`` has expired."""
    stored = InMemoryStore()

    async def fill() -> None:
        async with MemoryLedger.open(store=stored) as ledger:
            await ledger.add_user_message("s", "of the old life")
            await ledger.set_expiry("s", 60)

    async def opened(settings: Any) -> InMemoryStore:
        return stored

    asyncio.run(fill())
    now = SystemClock.now
    monkeypatch.setattr(SystemClock, "now", lambda self: now(self) + timedelta(days=1))
    monkeypatch.setattr("ledger.cli.common_options.open_store", opened)
    return stored


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def shown() -> list[str]:
    entries = json.loads(run("show", "s", "--json").stdout)["entries"]
    return [entry["content"] for entry in entries if entry["in_window"]]


def test_adopting_a_config_is_refused_and_says_what_to_do(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"profile": "rolling"}')
    done = run("adopt", "s", "--config", str(config))
    assert done.exit_code
    assert "has ended or expired; add an entry to start it again" in done.output + str(done.exception)


def test_changing_the_config_starts_a_new_life_and_says_so() -> None:
    done = run("config", "show", "s", "--set", "profile=rolling")
    assert done.exit_code == 0, done.output
    assert "session 's' had ended or expired; it begins anew with this config" in done.stderr
    assert shown() == []
    again = run("config", "show", "s", "--set", "profile=rolling_interactions")
    assert "begins anew" not in again.stderr
