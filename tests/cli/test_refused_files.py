"""Files that a command cannot read, write or import. Source: trust I-60, I-68."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.command_table import check_one_line

File = Callable[..., str]

TAKING_FILES = {
    "import": ["import", "{}"],
    "add --file": ["add", "s", "--file", "{}"],
    "config --file": ["config", "s", "--file", "{}"],
    "db restore": ["db", "restore", "{}"],
}


@pytest.mark.parametrize("name", TAKING_FILES)
def test_what_is_no_readable_file_is_refused__I_60(talked: Cli, name: str) -> None:
    os.mkfifo("fifo")
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    for wrong in ("absent", "folder", "fifo", "loop", "/dev/zero", "folder/below/absent", "two\nlines", "\udcff", ""):
        texts = check_one_line(talked.try_(*(part.format(wrong) for part in TAKING_FILES[name])))
        assert "cannot be read" in texts or "is a folder" in texts or "not a regular file" in texts


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("name", TAKING_FILES)
def test_a_file_without_read_permission_is_refused__I_60(talked: Cli, name: str) -> None:
    Path("secret").touch(0)
    check_one_line(talked.try_(*(part.format("secret") for part in TAKING_FILES[name])))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1,]", b'{"a":1}', b"null", b'"text"', b"[" * 10_000])
@pytest.mark.parametrize("name", TAKING_FILES)
def test_a_file_that_is_not_what_it_should_be_is_refused(talked: Cli, file: File, name: str, content: bytes) -> None:
    before = talked.json("timeline", "s")
    check_one_line(talked.try_(*(part.format(file(content)) for part in TAKING_FILES[name])))
    assert talked.json("timeline", "s") == before


def test_endless_input_is_refused_at_the_limit__I_60(talked: Cli) -> None:
    endless = b'["' + b"x" * 65 * 1024 * 1024
    for arguments in (["add", "s", "-"], ["add", "s", "--file", "-"], ["config", "s", "--file", "-"], ["import", "-"]):
        texts = check_one_line(talked.try_(*arguments, input=endless))
        assert "limited to" in texts or "at most" in texts


def test_a_file_for_a_session_of_another_conversation_gets_told_the_option(cli: Cli, file: File) -> None:
    cli("import", file([{"role": "user", "content": "hello"}], "chat.json"))
    other = file([{"role": "user", "content": "another talk"}], "chat.json")
    texts = check_one_line(cli.try_("import", other))
    assert (
        "session 'chat' already holds other events; choose another name with --session for this file alone, or" in texts
    )
    assert cli.json("import", other, "--session", "会話")["session_ids"] == ["会話"]


def exported(cli: Cli) -> list[bytes]:
    return cli("export", "s").out.encode().splitlines(keepends=True)


DAMAGED = {
    "cut off": lambda lines: lines[:-1],
    "cut in a line": lambda lines: [*lines[:-1], lines[-1][:20]],
    "only a header": lambda lines: lines[:1],
    "re-ordered": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "with an event twice": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "with an event left out": lambda lines: [*lines[:2], *lines[3:]],
    "with a byte changed": lambda lines: [*lines[:2], lines[2].replace(b'"content":"', b'"content":"AAAA'), *lines[3:]],
    "with another trailer": lambda lines: [*lines[:-1], lines[-1].replace(b'"events":3', b'"events":2')],
    "of another release": lambda lines: [lines[0].replace(b'_version":2', b'_version":3'), *lines[1:]],
    "from before the first release": lambda lines: [lines[0].replace(b'_version":2', b'_version":1'), *lines[1:]],
    "and more": lambda lines: [*lines, lines[1]],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_export_is_refused_with_its_line__I_68(talked: Cli, file: File, name: str) -> None:
    lines = exported(talked)
    damaged = file(b"".join(DAMAGED[name](lines)), "damaged.jsonl")
    other = talked.elsewhere(f"{talked.namespace}-copy")
    assert check_one_line(other.try_("import", damaged)).startswith(f"{damaged}: line ")
    assert other.json("sessions") == {"sessions": [], "more": False}
    assert check_one_line(talked.try_("db", "restore", damaged)).startswith("line ")


def test_an_import_that_stops_says_where_and_which_files_are_recorded(cli: Cli, file: File) -> None:
    good = file(b'{"role": "user", "content": "hello"}\n', "good.jsonl")
    other = file(b'{"role": "user", "content": "hello"}\n', "other.jsonl")
    bad = file(b'{"role": "user", "content": "hello"}\n{"role": "nobody"}\n', "bad.jsonl")
    texts = check_one_line(cli.try_("import", good, other, bad, good))
    assert texts.startswith(f"{bad}: line 2: ")
    assert texts.endswith("; 2 of 4 files recorded, 1 not tried")
    assert [row["session_id"] for row in cli.json("sessions")["sessions"]] == ["other", "good"]
    assert "files recorded" not in check_one_line(cli.try_("import", bad))
    begins_otherwise = file(b'{"role": "user", "content": "goodbye"}\n', "good.json")
    texts = check_one_line(cli.try_("import", good, begins_otherwise))
    assert texts.startswith(f"{begins_otherwise}: ")
    assert texts.endswith("; 1 of 2 files recorded, 0 not tried")


def test_an_export_that_is_whole_is_taken(talked: Cli, file: File) -> None:
    """Negative control."""
    whole = file(b"".join(exported(talked)), "whole.jsonl")
    assert talked.elsewhere(f"{talked.namespace}-copy").json("import", whole)["entries"] == 2


@pytest.mark.parametrize("target", ["folder", "absent/file", "", "fifo"])
def test_an_export_that_cannot_be_written_is_refused(talked: Cli, target: str) -> None:
    Path("folder").mkdir()
    os.mkfifo("fifo")
    before = sorted(Path().rglob("*"))
    check_one_line(talked.try_("export", "s", "-o", target))
    assert sorted(Path().rglob("*")) == before
    assert Path("fifo").is_fifo(), "what is no file is not replaced by one"
