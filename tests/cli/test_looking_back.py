"""``--at VERSION|TIMESTAMP`` on every reading command, and ``timeline --follow``. Source: trust P-8."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Cli

KEYS = {
    "show": lambda value: [entry["content"] for entry in value["entries"]],
    "timeline": lambda value: [event["version"] for event in value["events"]],
    "context": lambda value: value["text"],
    "stats": lambda value: (value["total_entries"], value["version"]),
    "config": lambda value: value["compactions"][0]["max_entries"],
}


@pytest.fixture
def history(cli: Cli) -> Cli:
    """A session of four versions: opened, said one, changed, said two."""
    cli("add", "s", "one")
    cli("config", "s", "--set", "maxEntries=7")
    cli("add", "s", "two")
    return cli


THEN: dict[str, list[Any]] = {
    "show": [[], ["one"], ["one"], ["one", "two"]],
    "timeline": [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]],
    "context": [
        "",
        *["=== Recent Conversation ===\nUser: one"] * 2,
        "=== Recent Conversation ===\nUser: one\nUser: two",
    ],
    "stats": [(0, 1), (1, 2), (1, 3), (2, 4)],
    "config": [100, 100, 7, 7],
}


@pytest.mark.parametrize("name", KEYS)
def test_a_command_answers_at_a_version_as_it_did_then(history: Cli, name: str) -> None:
    for version, expected in enumerate(THEN[name], start=1):
        assert KEYS[name](history.json(name, "s", "--at", str(version))) == expected
    assert KEYS[name](history.json(name, "s")) == expected


@pytest.mark.parametrize("name", KEYS)
def test_a_command_answers_at_a_moment_as_it_did_then(history: Cli, name: str) -> None:
    for event in history.json("timeline", "s")["events"][1:]:
        moment = event["recorded_at"]
        expected = THEN[name][event["version"] - 1]
        assert KEYS[name](history.json(name, "s", "--at", moment)) == expected
        assert KEYS[name](history.json(name, "s", "--at", moment.replace("Z", "+00:00"))) == expected
    assert KEYS[name](history.json(name, "s", "--at", "2999-01-01T00:00:00+14:00")) == THEN[name][-1]


def test_text_looks_back_too(history: Cli) -> None:
    assert history("show", "s", "--at", "2").lines[0] == "s at version 2: 1 entry, 1 in the window"
    assert len(history("timeline", "s", "--at", "3").lines) == 3
    assert len(history("timeline", "s", "--at", "3", "--after", "1").lines) == 2
    assert history("context", "s", "--at", "2").out == "=== Recent Conversation ===\nUser: one\n"
    assert "max_entries" in history("config", "s", "--at", "1").out


def test_the_list_of_sessions_looks_back_to_a_moment(history: Cli) -> None:
    events = history.json("timeline", "s")["events"]
    history("add", "later", "hello")
    rows = history.json("sessions", "--at", events[-1]["recorded_at"])["sessions"]
    assert [(row["session_id"], row["version"], row["entries"]) for row in rows] == [("s", 4, 2)]
    (row,) = history.json("sessions", "--at", events[1]["recorded_at"])["sessions"]
    assert (row["version"], row["entries"]) == (2, 1)
    assert history.json("sessions", "--at", "2001-01-01T00:00:00Z")["sessions"] == []
    assert "later" not in history("sessions", "--at", events[-1]["recorded_at"]).out


def test_a_user_has_a_past_of_their_own(history: Cli) -> None:
    history("add", "s", "mine", "--user", "judith")
    assert KEYS["show"](history.json("show", "s", "--user", "judith", "--at", "2")) == ["mine"]
    assert history.try_("show", "s", "--user", "judith", "--at", "4").code == 2


def read_lines(stream: Iterator[str], count: int) -> list[str]:
    return [next(stream) for _ in range(count)]


def test_following_goes_on_with_what_comes_until_it_is_interrupted(history: Cli) -> None:
    """trust I-62."""
    with history.process("timeline", "s", "--follow", "--json") as process:
        assert process.stdout is not None
        lines = read_lines(iter(process.stdout.readline, ""), 4)
        history("add", "s", "three")
        lines += read_lines(iter(process.stdout.readline, ""), 1)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, rest, errors.strip()) == (130, "", "")
    assert [json.loads(line)["version"] for line in lines] == [1, 2, 3, 4, 5]
    assert json.loads(lines[-1])["payload"]["content"] == "three"
