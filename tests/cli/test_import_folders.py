"""Folders of transcripts. Files that are still written to: see test_watching.py."""

import errno
import os
import re
import shutil
from base64 import b64decode
from codecs import BOM_UTF8
from gzip import decompress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import FIRST, SECOND, Cli
from tests.support.command_line_page import documented
from tests.support.importer_samples import SAMPLES


def test_a_folder_is_imported_once_and_its_files_do_not_collide(cli: Cli, projects: Path) -> None:
    done = cli.json("import", str(projects))
    assert documented("import FILE…")[0] <= done.keys()
    assert set(done["session_ids"]) == {
        FIRST,
        f"{FIRST}#a1b2c3d4",
        SECOND,
        f"{SECOND}~1",
        "home-mara-garden:chat",
        "home-mara-shed:chat",
    }
    assert (done["files"], done["failed"], done["no_transcripts"]) == (5, [], [str(projects / "settings.json")])
    assert done["other_lines"] == {"summary": 1, "file-history-snapshot": 1, "system": 1}
    export = cli("export", "--all").out
    again = cli.json("import", str(projects))
    assert (again["entries"], again["skipped"]) == (0, done["entries"])
    assert (again["sessions"], set(again["session_ids"])) == (done["sessions"], set(done["session_ids"]))
    assert cli("export", "--all").out == export
    assert cli.json("verify")["verdict"] == "OK-CHAINED"


def test_a_link_to_a_file_of_the_folder_is_not_read_again(cli: Cli, projects: Path) -> None:
    shed = projects / "-home-mara-shed"
    (shed / "alias.jsonl").symlink_to(shed / f"{SECOND}.jsonl")
    done = cli.json("import", str(shed))
    assert (done["files"], done["sessions"], done["skipped"]) == (2, 3, 0)


def test_a_link_to_a_folder_elsewhere_is_followed_once(cli: Cli, projects: Path, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    shutil.move(projects / "-home-mara-shed", elsewhere / "shed")
    (projects / "-home-mara-shed").symlink_to(elsewhere / "shed")
    (projects / "again").symlink_to(elsewhere / "shed")
    (elsewhere / "shed" / "up").symlink_to(tmp_path)
    (projects / "loop").symlink_to(projects)
    (projects / "nothing").symlink_to(tmp_path / "absent")
    done = cli.json("import", str(projects))
    assert {SECOND, "home-mara-garden:chat", "home-mara-shed:chat"} <= set(done["session_ids"])
    assert (done["files"], done["sessions"], done["failed"]) == (5, 6, [])


def test_a_folder_that_cannot_be_listed_is_named_and_stops_nothing(
    cli: Cli, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = str(projects / "-home-mara-shed")
    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        if str(path) == locked:
            raise PermissionError(errno.EACCES, "", locked)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    ran = cli.try_("import", str(projects))
    assert ran.code == 1
    assert f"not imported: {locked}: cannot be read: Permission denied" in ran.out
    assert "3 files read" in ran.out
    assert cli.try_("import", locked).out.count("cannot be read: Permission denied") == 1
    monkeypatch.undo()
    assert cli.json("import", str(projects))["failed"] == [], "the control: nothing else is wrong with it"


def test_names_that_are_no_unicode_are_in_the_json(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    shutil.copy(SAMPLES / "openai_list.json", folder / "chat.json")
    (folder / "bad.jsonl").write_text("{")
    (folder / "settings.json").write_text('{"theme": "dark"}')
    ran = cli.try_("import", str(tmp_path), "--json")
    assert ran.code == 1
    assert ran.json["no_transcripts"] == [str(folder / "settings.json")]
    assert [failed["file"] for failed in ran.json["failed"]] == [str(folder / "bad.jsonl")]
    assert ran.json["session_ids"] == ["caf-:chat"]
    assert cli.try_("export", "--all", "-o", str(folder / "all.jsonl"), "--json").json["file"] == str(
        folder / "all.jsonl"
    )


def test_a_bad_file_does_not_stop_the_others_and_is_named_at_the_end(cli: Cli, projects: Path) -> None:
    bad = projects / "-home-mara-garden" / "00.jsonl"
    bad.write_text('{"type": "user", broken\n')
    ran = cli.try_("import", str(projects))
    assert ran.code == 1
    assert f"not imported: {bad}: line 1: is not valid JSON" in ran.out
    assert "next: memory-ledger view" in ran.out
    assert SECOND in {session["session_id"] for session in cli.json("sessions")["sessions"]}
    bad.unlink()
    assert cli.try_("import", str(projects)).code == 0, "the control: without the bad file nothing is wrong"


def test_each_file_of_a_folder_that_is_refused_for_an_option_is_named(cli: Cli, projects: Path) -> None:
    ran = cli.try_("import", str(projects / "-home-mara-garden"), "--user", "a/b")
    refused = [line for line in ran.lines if line.startswith("not imported: ")]
    assert len(refused) == 2
    assert f"not imported: {projects}/-home-mara-garden/chat.json: user_id: must not contain slashes" in ran.out


@pytest.mark.parametrize("odd", [b"caf\xe9", b"\xed\xa0\x80"])
def test_a_file_in_another_encoding_does_not_stop_the_others(cli: Cli, projects: Path, odd: bytes) -> None:
    bad = projects / "-home-mara-garden" / "00.json"
    bad.write_bytes(b'{"type": "user", "note": "' + odd + b'"}\n')
    ran = cli.try_("import", str(projects))
    assert ran.code == 1
    assert f"not imported: {bad}: line 1: byte " in ran.out
    assert "is not UTF-8" in ran.out
    assert SECOND in {session["session_id"] for session in cli.json("sessions")["sessions"]}
    for command in (["import"], ["import", "--format", "claude-code"], ["view", "--no-browser"]):
        refused = cli.try_(*command, str(bad))
        assert (refused.code, "is not UTF-8" in refused.err) == (2, True)


@pytest.mark.parametrize("begin", [b"", BOM_UTF8])
def test_a_line_that_is_still_being_written_waits_for_its_end(cli: Cli, projects: Path, begin: bytes) -> None:
    growing = projects / "-home-mara-garden" / f"{FIRST}.jsonl"
    whole = begin + growing.read_bytes()
    growing.write_bytes(whole[:-40])
    done = cli.json("import", str(projects / "-home-mara-garden"))
    assert done["failed"] == []
    growing.write_bytes(whole)
    assert cli.json("import", str(projects / "-home-mara-garden"))["entries"] == 1


def test_the_end_says_commands_that_find_what_was_imported(cli: Cli, projects: Path) -> None:
    chat = projects / "-home-mara-garden" / "chat.json"
    (chat.parent / f"{FIRST}.jsonl").unlink()
    for place in (chat, chat.parent):
        told = cli("import", str(place), "--user", "mara o").lines[-1]
        space = f"--namespace {cli.namespace}"
        assert told == (
            f"next: memory-ledger view chat --user 'mara o' {space}, memory-ledger search WORDS {space}, "
            f"memory-ledger sessions --user 'mara o' {space}"
        )
        shown = cli.json("sessions", "--user", "mara o")["sessions"]
        assert [session["session_id"] for session in shown] == ["chat"]


def test_a_folder_has_no_single_session_and_no_standard_input(cli: Cli, projects: Path) -> None:
    for arguments in (["--session", "x"], ["-"]):
        ran = cli.try_("import", str(projects), *arguments)
        assert ran.code == 2
        assert len(ran.err.splitlines()) == 1


def test_a_format_can_be_named_and_an_unknown_one_is_refused__IN_1(cli: Cli) -> None:
    path = str(SAMPLES / "claude_simple.jsonl")
    assert cli.json("import", path, "--format", "claude-code")["entries"] == 4
    assert "must be one of" in cli.try_("import", path, "--format", "claude").err
    assert cli.try_("import", path, "--format", "openai-chat").code == 2


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("claude_compacted.jsonl", "Noted: 4417."),
        ("codex_tools.jsonl", "A rake and a spade."),
        ("gemini_tools.jsonl", "Seeds and a shed."),
        ("gemini_simple.json", "Ferns and mint."),
    ],
)
def test_view_takes_what_import_takes(cli: Cli, tmp_path: Path, file: str, words: str) -> None:
    page = tmp_path / "page.html"
    assert cli.json("view", str(SAMPLES / file), "--html", str(page))["bytes"] > 1_000
    blocks = re.findall(r'data-block="entries-\d+">([^<]+)<', page.read_text())
    assert words.encode() in b"".join(decompress(b64decode(block)) for block in blocks)


def test_the_end_names_the_user_of_a_session_of_an_export(cli: Cli, projects: Path, tmp_path: Path) -> None:
    cli("import", str(projects / "-home-mara-garden" / "chat.json"), "--user", "mara o")
    (exported := tmp_path / "exports").mkdir()
    cli("export", "--all", "-o", str(exported / "all.jsonl"))
    other = cli.elsewhere(f"{cli.namespace}-copy")
    for place in (exported / "all.jsonl", exported):
        told = other("import", str(place)).lines[-1]
        space = f"--namespace {other.namespace}"
        assert told == (
            f"next: memory-ledger view chat --user 'mara o' {space}, memory-ledger search WORDS {space}, "
            f"memory-ledger sessions {space}"
        )
    assert other.json("show", "chat", "--user", "mara o")["session_id"] == "chat"
