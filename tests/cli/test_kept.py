"""The commands ``kept``, ``transcript`` and ``entry pop``. Source: adapters LF-1, LF-2, LF-3."""

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Cli
from tests.cli.test_commands import SMALL, check_keys
from tests.support.command_table import check_one_line


def test_values_are_kept_listed_got_and_removed__LF_1(cli: Cli, tmp_path: Path) -> None:
    assert cli("kept", "set", "s", "plan", "step/1", '{"done": false}').lines == [
        "plan step/1 is stored; s is at version 2"
    ]
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(range(256)))
    check_keys("kept set SESSION SPACE KEY JSON", cli.json("kept", "set", "s", "plan", "image", "--bytes", str(raw)))
    assert json.loads(cli("kept", "get", "s", "plan", "step/1").out) == {"done": False}
    copy = tmp_path / "copy"
    assert cli("kept", "get", "s", "plan", "image", "--output", str(copy)).lines == [f"256 bytes in {copy}"]
    assert copy.read_bytes() == raw.read_bytes()
    value = cli.json("kept", "get", "s", "plan", "image")
    check_keys("kept get SESSION SPACE KEY", value)
    assert value["digest"] == hashlib.sha256(raw.read_bytes()).hexdigest()
    listed = cli.json("kept", "list", "s", "plan")
    check_keys("kept list SESSION SPACE", listed)
    assert [each["key"] for each in listed["values"]] == ["image", "step/1"]
    assert "256 bytes" in cli("kept", "list", "s", "plan").out
    check_keys("kept remove SESSION SPACE KEY", cli.json("kept", "remove", "s", "plan", "image"))
    assert [each["key"] for each in cli.json("kept", "list", "s", "plan")["values"]] == ["step/1"]
    assert len(cli.json("kept", "list", "s", "plan", "--at", "3")["values"]) == 2


def test_what_is_no_value_is_refused(cli: Cli) -> None:
    for arguments in (["{"], [], ["1", "--bytes", "x"], ["--bytes", "nowhere"]):
        check_one_line(cli.try_("kept", "set", "s", "plan", "k", *arguments))
    assert "has no events" in check_one_line(cli.try_("kept", "list", "s", "plan")), "nothing was written"
    cli("add", "s", "hello")
    assert "has no value in space plan" in check_one_line(cli.try_("kept", "get", "s", "plan", "k"))


def words(entry: Any) -> str:
    (word,) = set(entry["content"].split())
    return str(word)


def test_the_transcript_shows_compacted_entries_and_pop_takes_the_newest__LF_3(cli: Cli) -> None:
    for text in ("one", "two", "three"):
        cli("add", "s", f"{text} " * 60)
    cli("config", "s", *SMALL)
    cli("compress", "s", "--force")
    value = cli.json("transcript", "s", "--last", "2")
    check_keys("transcript SESSION", value)
    assert [words(entry) for entry in value["entries"]] == ["two", "three"]
    assert "one" in cli("transcript", "s").out
    assert [words(entry) for entry in cli.json("transcript", "s", "--after", "3")["entries"]] == ["three"]
    popped = cli.json("entry", "pop", "s")
    check_keys("entry pop SESSION", popped)
    assert words(popped["entry"]) == "three"
    assert cli("entry", "pop", "s").lines[1].split()[0] == "two"
    cli("entry", "pop", "s")
    assert cli("entry", "pop", "s").lines == ["s has no entry"]
    assert cli.json("transcript", "s")["entries"] == []
