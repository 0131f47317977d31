"""Every command and what is wrong with its arguments: one line, the documented exit code, nothing written.

Source: trust N-13, I-30, I-36, I-41, I-43, I-48, I-60, I-61, P-11.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from ledger.cli.app import app
from tests.cli.conftest import Cli, Ran
from tests.support.command_table import COMMANDS, CONFIG, WITH_SESSION, check_one_line

File = Callable[..., str]
READING = ["show", "timeline", "context", "stats", "config show"]


def test_the_table_names_every_command() -> None:
    group: Any = typer.main.get_command(app)
    groups = {"config", "db", "entry", "jobs", "kept", "projections", "token"}
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


UNUSED = {"namespace": ["demo"], "database-url": ["demo"], "data-dir": ["demo"]}


@pytest.mark.parametrize(("option", "name"), [(option, name) for option, names in UNUSED.items() for name in names])
def test_an_option_that_a_command_has_no_use_for_is_refused(cli: Cli, option: str, name: str) -> None:
    for whole in ([f"--{option}", "x", *COMMANDS[name]], [*COMMANDS[name], f"--{option}", "x"]):
        texts = check_one_line(cli.try_(*whole, where=()))
        assert f"--{option}: must not be given: this command does not use it" in texts


def test_a_folder_given_as_option_wins_over_the_database_of_the_environment(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL", cli.url)
    folder = str(tmp_path / "data")
    status = cli.try_("db", "status", "--data-dir", folder, "--json", where=())
    assert (status.code, status.json["data_dir"]) == (0, folder)
    texts = check_one_line(cli.try_("sessions", "--data-dir", folder, "--database-url", cli.url, where=()))
    assert "--database-url: must not be given: --data-dir names another database" in texts


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
    assert cli.json("sessions") == {"sessions": [], "more": False}


BAD_NAMES = ("a/b", "../../etc/passwd", "", "a\x1b[2J", "a" * 60_000, "\udcff")


@pytest.mark.parametrize("name", WITH_SESSION)
def test_a_bad_session_is_refused(cli: Cli, name: str) -> None:
    for session in BAD_NAMES if name == "add" else BAD_NAMES[:1]:
        check_one_line(cli.try_(*name.split(), session, *WITH_SESSION[name]))
    assert cli.json("sessions") == {"sessions": [], "more": False}


def test_an_id_of_an_sdk_is_refused_with_the_name_it_is_stored_by(cli: Cli) -> None:
    """adapters AD-3."""
    cli("add", "~user%2F42", "hello", "--user", "~a%2Fb")
    for arguments, name in ((["user/42"], "~user%2F42"), (["s", "--user", "a/b"], "~a%2Fb")):
        message = check_one_line(cli.try_("show", *arguments))
        assert message.endswith(f" with a space; an adapter of an SDK stores this id as {name}")
    assert "adapter" not in check_one_line(cli.try_("fork", "~user%2F42", "a/b", "--user", "~a%2Fb"))


@pytest.mark.parametrize("name", [name for name in WITH_SESSION if name not in {"add", "clear", "kept set"}])
def test_an_unknown_session_is_refused(cli: Cli, name: str) -> None:
    texts = check_one_line(cli.try_(*name.split(), "nobody", *WITH_SESSION[name]))
    listing = "`memory-ledger sessions`, or list_sessions() of the library,"
    assert texts == f"session 'nobody' has no events; {listing} lists those that do"


def test_an_unknown_session_is_refused_also_after_a_version(cli: Cli) -> None:
    check_one_line(cli.try_("timeline", "nobody", "--after", "5"))
    check_one_line(cli.try_("stats", "nobody", "--at", "5"))
    check_one_line(cli.try_("export", "nobody", "--format", "state"))


def test_clearing_an_unknown_session_makes_none(cli: Cli) -> None:
    """R-000-14."""
    assert "session 'nobody' has no events" in check_one_line(cli.try_("clear", "nobody"))
    assert cli.json("sessions") == {"sessions": [], "more": False}


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
    "an empty text": (["add", "s", ""], "content: must not be empty"),
    "a blank text": (["add", "s", " \n"], "content: must not be empty"),
    "a blank search": (["search", " "], "query: must not be empty"),
    "a text that is no text": (["add", "s", "\udcff"], "valid Unicode"),
    "a role that is none": (["add", "s", "x", "--role", "System"], "role: must be user"),
    "a kind that is none": (["add", "s", "x", "--kind", "note"], "kind: must be one of"),
    "a call of nothing": (["add", "s", "x", "--kind", "tool_call"], "must name its tool"),
    "a key with a blank": (["add", "s", "x", "--idempotency-key", "a b"], "idempotency_key"),
    "an empty key": (["add", "s", "x", "--idempotency-key", ""], "idempotency_key"),
    "a version that is a word": (["diff", "s", "one", "2"], "must be a version or a timestamp"),
    "one version": (["diff", "s", "1"], "give two of these"),
    "three sides": (["diff", "s", "1", "2", "--config", CONFIG], "give two of these"),
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
    "a compaction that is none": (["compress", "s", "--key", "nightly"], "no compaction with this key"),
    "too few entries": (["compress", "s"], "0 entries may be compressed"),
    "a field that is none": (["config", "s", "--set", "maxEntrees=5"], "maxEntrees"),
    "a value that is none": (["config", "s", "--set", "maxEntries=many"], "maxEntries"),
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


ENTRIES: dict[str, tuple[Any, str]] = {
    "none": ([], "entries: must have 1 to 1000"),
    "1,001": ([{"role": "user", "content": "x"}] * 1_001, "entries: must have 1 to 1000"),
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


def test_a_config_of_an_unknown_session_creates_it_and_says_so(cli: Cli) -> None:
    created = cli.try_("config", "new", "--set", "max_entries=5")
    assert created.code == 0
    assert created.err == "memory-ledger: session 'new' had no events; it is created with this config\n"
    assert cli.try_("config", "new", "--set", "max_entries=6").err == ""
    assert cli.try_("config", "other", "--set", "max_entries=5", "--json").err == ""
