"""The commands that explain an agent, and those about stored projections: words, JSON keys, exit codes."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from msgspec.structs import replace
from typer.testing import CliRunner

from ledger.application.auditing import provenance
from ledger.application.reading.context_audit import ContextAudit
from ledger.cli.app import app
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> InMemoryStore:
    """A store in memory, in which a session ``s`` was compacted and looked at."""
    stored = InMemoryStore()

    async def fill() -> None:
        config = {"maxEntries": 3, "recentWindow": 1, "minEntriesToCompress": 2}
        async with MemoryLedger.open(store=stored, config=config, actor="bot") as ledger:
            for number in range(1, 5):
                await ledger.add_user_message("s", f"message {number} " * 20, entry_id=f"e{number}")
            await ledger.settle("s")
            await ledger.get_context("s", record=True)

    async def opened(settings: Any) -> InMemoryStore:
        return stored

    asyncio.run(fill())
    monkeypatch.setattr("ledger.cli.common_options.open_store", opened)
    return stored


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def documented(command: str) -> set[str]:
    """Return the keys that the page names for *command*, at any depth."""
    row = re.search(rf"^\| `{command}\b[^|]*\|[^|]*\|(.*)\|$", PAGE, re.MULTILINE)
    assert row is not None
    return set(re.findall(r"`(\w+)`", row.group(1)))


def keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return {key for each in value for key in keys(each)}
    if isinstance(value, dict):
        return set(value) | {key for name, each in value.items() if name != "message" for key in keys(each)}
    return set()


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "arguments",
    [
        ("seen", "s"),
        ("derived", "s", "e1"),
        ("projections", "list"),
        ("projections", "status"),
        ("projections", "rebuild"),
    ],
)
def test_every_key_is_documented(arguments: tuple[str, ...]) -> None:
    assert run("projections", "rebuild").exit_code == 0
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found = keys(json.loads(done.stdout))
    named = documented(" ".join(arguments[:2]) if arguments[0] == "projections" else arguments[0])
    assert found <= named
    assert len(found) > 3, "the control: there are keys to compare"


@pytest.mark.usefixtures("store")
def test_what_the_model_saw_is_shown_line_by_line_and_proved() -> None:
    done = run("seen", "s")
    assert done.exit_code == 0
    assert "proved: its digests are the recorded ones" in done.stdout
    assert re.search(r"^entry v5 +│ User: message 4", done.stdout, re.MULTILINE)
    assert re.search(r"^summary S1 +│ ", done.stdout, re.MULTILINE)
    assert re.search(r"summary S1 = \w{26}, of version \d+ = entries 2-4", done.stdout)
    assert "not recorded: this is what would have been shown" in run("seen", "s", "--at", "3").stdout


@pytest.mark.usefixtures("store")
def test_a_context_is_recorded_on_request_and_searched_for_a_query() -> None:
    before = json.loads(run("timeline", "s", "--json").stdout)["events"]
    assert run("config", "s", "--set", "max_entries=9").exit_code == 0
    shown = json.loads(run("context", "s", "--record", "--query", "message 1", "--json").stdout)
    after = json.loads(run("timeline", "s", "--json").stdout)["events"]
    assert [event["type"] for event in after[len(before) :]] == ["config.changed", "context.rendered"]
    seen = json.loads(run("seen", "s", "--json").stdout)
    assert (seen["verdict"], seen["text"], seen["version"]) == ("proved", shown["text"], shown["version"])


@pytest.mark.usefixtures("store")
def test_what_differs_is_said_and_ends_with_40(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of ``proved``."""
    honest = provenance.seen_of

    def altered(*given: Any, **claimed: bool) -> ContextAudit:
        context, event, lineage = given
        return honest(context, replace(event, payload=replace(event.payload, text_digest="0" * 64)), lineage, **claimed)

    monkeypatch.setattr(provenance, "seen_of", altered)
    done = run("seen", "s")
    assert (done.exit_code, "DIFFERS" in done.stdout) == (40, True)


@pytest.mark.usefixtures("store")
def test_what_an_entry_reached_is_listed_by_its_id_or_version() -> None:
    by_id, by_version = (json.loads(run("derived", "s", name, "--json").stdout) for name in ("e1", "2"))
    assert by_id == by_version
    assert [item["how"] for item in by_id["summaries"]] == ["covers"]
    assert "in the window: covers it" in run("derived", "s", "e1").stdout
    assert "It reached no summary" not in run("derived", "s", "e4").stdout
    refused = run("derived", "s", "nobody")
    assert (refused.exit_code, "was never in this session" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("store")
def test_an_unknown_projection_is_refused() -> None:
    refused = run("projections", "rebuild", "sessions")
    assert (refused.exit_code, "session_index" in refused.stderr) == (2, True)
