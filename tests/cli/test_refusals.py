"""Every command and what is wrong with its arguments: one line, the documented exit code, nothing written.

Source: trust N-13, I-30, I-36, I-41, I-43, I-48, I-60, I-61, P-11.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from ledger.cli.app import app
from tests.cli.conftest import Cli, Ran
from tests.support.databases import Server

PASSWORD = "hunter2-and-more"
UNREACHABLE = f"postgresql://u:{PASSWORD}@127.0.0.1:1/x"

CONFIG = str(Path(__file__).parents[2] / "examples" / "configs" / "full.json")

File = Callable[..., str]

#: What every command with a session takes beside it.
WITH_SESSION = {
    "add": ["hello"],
    "show": [],
    "timeline": [],
    "context": [],
    "stats": [],
    "diff": ["1", "2"],
    "what-if": ["--without", "e"],
    "adopt": ["--config", CONFIG],
    "seen": [],
    "derived": ["1"],
    "compress": [],
    "clear": [],
    "config": [],
    "verify": [],
    "export": [],
}
COMMANDS = {
    **{name: [name, "s", *rest] for name, rest in WITH_SESSION.items()},
    "import": ["import", "transcript.json"],
    "import-ams": ["import-ams", "http://127.0.0.1:1"],
    "fork": ["fork", "s", "t"],
    "worker": ["worker", "--once"],
    "jobs list": ["jobs", "list"],
    "jobs retry": ["jobs", "retry"],
    "sessions": ["sessions"],
    "search": ["search", "hello"],
    "backtest": ["backtest", "--config", CONFIG],
    **{f"projections {name}": ["projections", name] for name in ("list", "status", "rebuild")},
    "doctor": ["doctor"],
    "demo": ["demo"],
    "serve": ["serve", "--port", "0"],
    "token add": ["token", "add", "ann"],
    "token list": ["token", "list"],
    "token revoke": ["token", "revoke", "k"],
    "db start": ["db", "start"],
    "db stop": ["db", "stop"],
    "db status": ["db", "status"],
    "db upgrade": ["db", "upgrade"],
    "db login": ["db", "login", "app"],
    "db restore": ["db", "restore", "transcript.json"],
    "db prune": ["db", "prune"],
}
EMBEDDED_ONLY = ("db start", "db stop", "db status")
#: What works on a database of one's own; a login wants a password first, and is tested by itself.
CONNECTING = [name for name in COMMANDS if name not in {"demo", "db login", *EMBEDDED_ONLY}]
READING = ["show", "timeline", "context", "stats", "config"]


def check_one_line(ran: Ran, code: int = 2) -> str:
    """Assert that a command ended with *code* and one line on standard error; return what the line says."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert ran.err.endswith("\n")
    (line,) = ran.err[:-1].split("\n")
    assert line.startswith("memory-ledger: ")
    assert "Traceback" not in line
    assert line.isprintable()
    return line.removeprefix("memory-ledger: ")


def test_the_table_names_every_command() -> None:
    group: Any = typer.main.get_command(app)
    groups = {"db", "jobs", "projections", "token"}
    below = {f"{name} {command}" for name in groups for command in group.commands[name].commands}
    assert set(COMMANDS) == (group.commands.keys() - groups) | below


def test_a_check_that_finds_two_lines_or_a_traceback_fails() -> None:
    """Negative control."""
    for text in ("", "memory-ledger: a\nb\n", "oops\n", "memory-ledger: Traceback (most recent call last)\n"):
        with pytest.raises((AssertionError, ValueError)):
            check_one_line(Ran(2, "", text))
    with pytest.raises(AssertionError):
        check_one_line(Ran(1, "", "memory-ledger: a\n"))


# arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_refused(cli: Cli, name: str) -> None:
    texts = check_one_line(cli.try_(*COMMANDS[name], "--colour", "red"))
    assert "--colour" in texts
    assert f"memory-ledger {name} --help" in texts


@pytest.mark.parametrize("name", COMMANDS)
def test_an_argument_too_many_is_refused(cli: Cli, name: str) -> None:
    check_one_line(cli.try_(*COMMANDS[name], *["extra"] * (1 if name != "import" else 0), "--limit"))


@pytest.mark.parametrize("name", ["add", "show", "timeline", "context", "stats", "diff", "compress", "clear", "config"])
def test_a_missing_session_is_refused(cli: Cli, name: str) -> None:
    assert "SESSION" in check_one_line(cli.try_(name))


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["db", "nonsense"], ["--nonsense"], ["Show", "s"], ["db", "Start"]]
)
def test_an_unknown_command_is_refused(cli: Cli, arguments: list[str]) -> None:
    texts = check_one_line(cli.try_(*arguments))
    assert arguments[-1] in texts or arguments[0] in texts


@pytest.mark.parametrize("name", [*WITH_SESSION, "import", "sessions", "db prune"])
def test_a_bad_namespace_is_refused(cli: Cli, name: str) -> None:
    """trust N-3."""
    Path("transcript.json").write_text('[{"role": "user", "content": "hello"}]')
    for namespace in ("a/b", "", " ", "a" * 256) if name == "add" else ("a/b", ""):
        texts = check_one_line(cli.try_(*COMMANDS[name], where=["--database-url", cli.url, "--namespace", namespace]))
        assert "namespace" in texts


@pytest.mark.parametrize("name", [*WITH_SESSION, "import", "sessions"])
def test_a_bad_user_is_refused(cli: Cli, name: str) -> None:
    Path("transcript.json").write_text('[{"role": "user", "content": "hello"}]')
    assert "user_id" in check_one_line(cli.try_(*COMMANDS[name], "--user", "a/b"))
    assert cli.json("sessions") == {"sessions": []}


BAD_NAMES = ("a/b", "../../etc/passwd", "", "a\x1b[2J", "a" * 60_000, "\udcff")


@pytest.mark.parametrize("name", WITH_SESSION)
def test_a_bad_session_is_refused(cli: Cli, name: str) -> None:
    for session in BAD_NAMES if name == "add" else BAD_NAMES[:1]:
        check_one_line(cli.try_(name, session, *WITH_SESSION[name]))
    assert cli.json("sessions") == {"sessions": []}


@pytest.mark.parametrize("name", [name for name in WITH_SESSION if name not in {"add", "clear"}])
def test_an_unknown_session_is_refused(cli: Cli, name: str) -> None:
    texts = check_one_line(cli.try_(name, "nobody", *WITH_SESSION[name]))
    assert texts == "session 'nobody' has no events; `memory-ledger sessions` lists those that do"


def test_an_unknown_session_is_refused_also_after_a_version(cli: Cli) -> None:
    check_one_line(cli.try_("timeline", "nobody", "--after", "5"))
    check_one_line(cli.try_("stats", "nobody", "--at", "5"))
    check_one_line(cli.try_("export", "nobody", "--format", "state"))


def test_clearing_an_unknown_session_makes_none(cli: Cli) -> None:
    """R-000-14."""
    assert cli.json("clear", "nobody") == {"session_id": "nobody", "version": 0}
    assert cli.json("sessions") == {"sessions": []}


MOMENTS = [
    "yesterday",
    "",
    "1.5",
    "-1",
    "2026-01-01T00:00:00",
    "2026-02-30T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "\u0661",
    "\udcff",
]


@pytest.mark.parametrize("name", [*READING, "sessions"])
def test_a_moment_that_is_none_is_refused(talked: Cli, name: str) -> None:
    """trust I-43."""
    for at in MOMENTS if name in {"show", "sessions"} else MOMENTS[:2]:
        assert "--at" in check_one_line(talked.try_(*COMMANDS[name], f"--at={at}"))


@pytest.mark.parametrize("name", READING)
def test_a_version_or_moment_that_never_was_is_refused(talked: Cli, name: str) -> None:
    for at in ("0", "4", "99999999999999999999999", "1999-01-01T00:00:00Z"):
        check_one_line(talked.try_(*COMMANDS[name], "--at", at))


BAD_ARGUMENTS: dict[str, tuple[list[str], str]] = {
    "nothing to add": (["add", "s"], "TEXT"),
    "a text and a file": (["add", "s", "hello", "--file", "x"], "TEXT"),
    "an empty text": (["add", "s", ""], "content must not be empty"),
    "a blank text": (["add", "s", " \n"], "content must not be empty"),
    "a text that is no text": (["add", "s", "\udcff"], "valid Unicode"),
    "a role that is none": (["add", "s", "x", "--role", "System"], "roles are"),
    "a kind that is none": (["add", "s", "x", "--kind", "note"], "kinds are"),
    "a call of nothing": (["add", "s", "x", "--kind", "tool_call"], "names its tool"),
    "a key with a blank": (["add", "s", "x", "--idempotency-key", "a b"], "idempotency_key"),
    "an empty key": (["add", "s", "x", "--idempotency-key", ""], "idempotency_key"),
    "a version that is a word": (["diff", "s", "one", "2"], "neither a version nor a timestamp"),
    "one version": (["diff", "s", "1"], "compare two"),
    "three sides": (["diff", "s", "1", "2", "--config", CONFIG], "compare two"),
    "no config and no entry": (["what-if", "s"], "--config, --without"),
    "nothing to adopt": (["adopt", "s"], "--config"),
    "a version that never was": (["diff", "s", "1", "9"], "versions 1 to 3"),
    "no versions": (["diff", "s"], "A"),
    "a limit of no sessions": (["sessions", "--limit", "0"], "limit"),
    "I-41 a limit of -1": (["sessions", "--limit=-1"], "limit"),
    "I-41 a limit of 1e3": (["sessions", "--limit", "1e3"], "--limit"),
    "I-41 a limit of 10**20": (["sessions", "--limit", f"{10**20}"], "limit"),
    "events after -1": (["timeline", "s", "--after=-1"], "after_version"),
    "events after 2**63": (["timeline", "s", "--after", f"{2**63}"], "after_version"),
    "a format that is none": (["context", "s", "--format", "xml"], "--format"),
    "a compaction that is none": (["compress", "s", "--key", "nightly"], "no compaction of that key"),
    "too few entries": (["compress", "s"], "0 entries may be compressed"),
    "a field that is none": (["config", "s", "--set", "maxEntrees=5"], "max_entrees"),
    "a value that is none": (["config", "s", "--set", "maxEntries=many"], "max_entries"),
    "a pair that is none": (["config", "s", "--set", "maxEntries"], "KEY=VALUE"),
    "a pair without a key": (["config", "s", "--set", "=5"], "KEY=VALUE"),
    "a pair that is no text": (["config", "s", "--set", "prompt=\udcff"], "Unicode"),
    "a change of the past": (["config", "s", "--set", "maxEntries=5", "--at", "1"], "--at"),
    "a proof that is none": (["verify", "s", "--require", "notarized"], "--require"),
    "neither one session nor all": (["export"], "--all"),
    "one session and all": (["export", "s", "--all"], "--all"),
    "a state of all": (["export", "--all", "--format", "state"], "--format"),
    "a form that is none": (["export", "s", "--format", "csv"], "--format"),
    "no days": (["db", "prune", "--days", "0"], "--days"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_are_refused_and_change_nothing(talked: Cli, name: str) -> None:
    arguments, words = BAD_ARGUMENTS[name]
    before = talked.json("timeline", "s")
    assert words in check_one_line(talked.try_(*arguments))
    assert talked.json("timeline", "s") == before
    assert len(talked.json("sessions")["sessions"]) == 1


# files

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
        assert "cannot be read" in texts or "is a folder" in texts or "no regular file" in texts


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("name", TAKING_FILES)
def test_a_file_one_may_not_read_is_refused__I_60(talked: Cli, name: str) -> None:
    Path("secret").touch(0)
    check_one_line(talked.try_(*(part.format("secret") for part in TAKING_FILES[name])))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1,]", b'{"a":1}', b"null", b'"text"', b"[" * 10_000])
@pytest.mark.parametrize("name", TAKING_FILES)
def test_a_file_that_is_not_what_it_should_be_is_refused(talked: Cli, file: File, name: str, content: bytes) -> None:
    before = talked.json("timeline", "s")
    check_one_line(talked.try_(*(part.format(file(content)) for part in TAKING_FILES[name])))
    assert talked.json("timeline", "s") == before


def test_endless_input_is_refused_at_the_limit__I_60(talked: Cli) -> None:
    endless = b'["' + b"x" * 13 * 1024 * 1024
    for arguments in (["add", "s", "-"], ["add", "s", "--file", "-"], ["config", "s", "--file", "-"], ["import", "-"]):
        texts = check_one_line(talked.try_(*arguments, input=endless))
        assert "limited to" in texts or "at most" in texts


ENTRIES: dict[str, tuple[Any, str]] = {
    "none": ([], "entries: 1 to 1000"),
    "1,001": ([{"role": "user", "content": "x"}] * 1_001, "entries: 1 to 1000"),
    "one of them blank": ([{"role": "user", "content": "x"}] * 57 + [{"role": "user", "content": " "}], "entries[57]"),
    "an unknown field": ([{"role": "user", "content": "x", "colour": "red"}], "entries[0].colour"),
    "a duplicate": ([{"role": "user", "content": text, "entry_id": "e"} for text in "ab"], "'e'"),
    "a number": ([5], "entries[0]"),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_batch_with_a_bad_entry_is_refused_whole__I_49(talked: Cli, file: File, name: str) -> None:
    entries, words = ENTRIES[name]
    assert words in check_one_line(talked.try_("add", "s", "--file", file(entries)))
    assert talked.json("stats", "s")["version"] == 3


def exported(cli: Cli) -> list[bytes]:
    return cli("export", "s").out.encode().splitlines(keepends=True)


DAMAGED = {
    "cut off": lambda lines: lines[:-1],
    "cut in a line": lambda lines: [*lines[:-1], lines[-1][:20]],
    "only a header": lambda lines: lines[:1],
    "re-ordered": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "with an event twice": lambda lines: [*lines[:3], lines[2], *lines[3:]],
    "with an event left out": lambda lines: [*lines[:2], *lines[3:]],
    "with a byte changed": lambda lines: [*lines[:2], lines[2].replace(b'"payload":"', b'"payload":"AAAA'), *lines[3:]],
    "with another trailer": lambda lines: [*lines[:-1], lines[-1].replace(b'"events":3', b'"events":2')],
    "of another release": lambda lines: [lines[0].replace(b'_version":1', b'_version":2'), *lines[1:]],
    "and more": lambda lines: [*lines, lines[1]],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_export_is_refused_with_its_line__I_68(talked: Cli, file: File, name: str) -> None:
    lines = exported(talked)
    damaged = file(b"".join(DAMAGED[name](lines)), "damaged.jsonl")
    other = talked.elsewhere(f"{talked.namespace}-copy")
    assert check_one_line(other.try_("import", damaged)).startswith("line ")
    assert other.json("sessions") == {"sessions": []}
    assert check_one_line(talked.try_("db", "restore", damaged)).startswith("line ")


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


# databases


@pytest.mark.parametrize("name", CONNECTING)
def test_a_database_that_cannot_be_reached_is_said_without_its_password(cli: Cli, file: File, name: str) -> None:
    """trust I-61; exit code 1, of doctor 4."""
    file([{"role": "user", "content": "hello"}], "transcript.json")
    if name == "db restore":
        cli("add", "s", "hello")
        file(cli("export", "--all").out, "transcript.json")
    ran = cli.try_(*COMMANDS[name], where=["--database-url", UNREACHABLE])
    if name == "doctor":
        assert (ran.code, ran.err) == (4, "")
        assert ran.out.startswith("✗ connection: ")
    else:
        assert "the database does not answer" in check_one_line(ran, 1)
    assert PASSWORD not in ran.out + ran.err
    assert "refused" in ran.out + ran.err, "it says why"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_what_is_no_database_url_is_refused_without_its_password(cli: Cli, name: str) -> None:
    Path("transcript.json").write_text('[{"role": "user", "content": "hello"}]')
    for url in (f"mysql://u:{PASSWORD}@h/x", f"host=h password={PASSWORD}", f"postgresql://h/x?pass={PASSWORD}", ""):
        ran = cli.try_(*COMMANDS[name], where=["--database-url", url])
        assert PASSWORD not in check_one_line(ran)


@pytest.mark.parametrize("name", EMBEDDED_ONLY)
def test_only_the_embedded_server_is_started_and_stopped(cli: Cli, name: str) -> None:
    assert "embedded" in check_one_line(cli.try_(*COMMANDS[name]))


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"demo", "db status", "db login"}])
def test_a_data_directory_that_can_be_none_is_said(cli: Cli, file: File, name: str) -> None:
    file([{"role": "user", "content": "hello"}], "transcript.json")
    if name == "db restore":
        cli("add", "s", "hello")
        file(cli("export", "--all").out, "transcript.json")
    for folder in (file("", "a-file"), "a-file/below"):
        texts = check_one_line(cli.try_(*COMMANDS[name], where=["--data-dir", folder]), 1)
        assert "data directory" in texts
    check_one_line(cli.try_(*COMMANDS[name], where=["--data-dir", ""]))


@pytest.mark.parametrize("name", [name for name in CONNECTING if name != "db upgrade"])
def test_a_database_without_our_schema_says_what_to_run(cli: Cli, without_schema: str, file: File, name: str) -> None:
    file([{"role": "user", "content": "hello"}], "transcript.json")
    if name == "db restore":
        cli("add", "s", "hello")
        file(cli("export", "--all").out, "transcript.json")
    url = cli.url.replace(_database(cli.url), without_schema)
    ran = cli.try_(*COMMANDS[name], where=["--database-url", url])
    if name == "doctor":
        assert ran.code == 4
        assert "✗ schema: none; run `memory-ledger db upgrade`" in ran.lines
    else:
        assert "memory-ledger db upgrade" in check_one_line(ran, 1)


@pytest.fixture(scope="module")
def without_schema(server: Server):
    with server.fresh(migrated=False) as name:
        yield name


def _database(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def test_a_login_that_may_not_upgrade_or_restore_is_refused(talked: Cli, file: File) -> None:
    export = file(talked("export", "--all").out)
    for arguments in (["db", "restore", export],):
        assert "privilege" in check_one_line(talked.try_(*arguments))


def test_bad_settings_in_the_environment_are_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SUMMARIZER_TIMEOUT_S", "soon"), ("COMPACTION_LEASE_S", "-1"), ("DATABASE_URL", "x")):
        with monkeypatch.context() as patch:
            patch.setenv(f"MEMORY_LEDGER_{name}", value)
            texts = check_one_line(cli.try_("sessions", where=[]))
            assert f"MEMORY_LEDGER_{name}" in texts


def test_an_empty_variable_is_as_good_as_none(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "NAMESPACE", "ACTOR", "SUMMARIZER_MODEL"):
        monkeypatch.setenv(f"MEMORY_LEDGER_{name}", "")
    assert "data directory" in check_one_line(cli.try_("sessions", where=[]), 1)
    cli("add", "s", "hello")
    assert [event["actor"] for event in cli.json("timeline", "s")["events"]] == ["cli", "cli"]


# errors as JSON


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (["show", "nobody"], "session_not_found", None),
        (["show", "a/b"], "bad_name", "session_id"),
        (["add", "s", ""], "empty_content", "entries[0].content"),
        (["show", "s", "--at", "x"], "bad_time", "--at"),
        (["show"], "bad_arguments", None),
        (["nonsense"], "bad_arguments", None),
        (["diff", "s", "x", "y"], "bad_time", "A"),
        (["import", "\udcff"], "no_file", "\\u{dcff}"),
        (["import", "a\nb"], "no_file", "a\nb"),
    ],
)
def test_with_json_the_error_is_json_too(cli: Cli, arguments: list[str], code: str, field: str | None) -> None:
    for whole in (["--json", *arguments], [*arguments, "--json"]):
        ran = cli.try_(*whole)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
        error = json.loads(ran.err)["error"]
        assert (error["code"], error["field"]) == (code, field)
        assert error["message"]
