"""Every command on a session: what people read, and the JSON whose keys docs/command-line.md promises."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel, ValidationError

from ledger.application.json_models.compaction_json import CompactionShape
from ledger.application.json_models.comparison_json import DifferenceShape, WhatIfShape
from ledger.application.json_models.event_json import EventShape
from ledger.application.json_models.search_json import HitsShape
from ledger.application.json_models.session_json import SessionShape, ShownStateShape, StatsShape
from ledger.cli.demo import example
from tests.cli.conftest import Cli
from tests.support import model_endpoint
from tests.support.command_line_page import documented
from tests.support.command_table import check_one_line

File = Callable[..., str]

SMALL = ["--set", "maxEntries=5", "--set", "recentWindow=2", "--set", "minEntriesToCompress=2"]


def check_keys(command: str, value: Any) -> None:
    """Assert that *value* has the keys the page promises for *command*, down into its lists."""
    outer, inner = documented(command)
    assert outer, command
    assert outer <= value.keys(), f"{command}: {outer - value.keys()}"
    for name, keys in inner.items():
        assert value[name], f"{command} has an empty {name}, which proves nothing"
        for item in value[name]:
            assert keys <= item.keys(), f"{command}.{name}: {keys - item.keys()}"


@pytest.fixture
def trip(cli: Cli) -> Cli:
    """A session "trip" with a compaction behind it: version 10, four entries in a summary, two in the window."""
    cli("add", "trip", "Find me a flight to Lisbon. " * 20)
    cli("config", "trip", *SMALL)
    cli("add", "trip", "--kind", "tool_call", "--tool", "search", "--call-id", "c1", '{"to": "LIS"}')
    cli("add", "trip", "--kind", "tool_result", "--tool", "search", "--call-id", "c1", '["TP123", "LH456"]')
    cli("add", "trip", "--role", "assistant", "TP123 leaves at nine.")
    cli("add", "trip", "And a hotel?")
    cli("add", "trip", "Near the river.")
    cli("add", "trip", "--role", "assistant", "Gladly.", "--user", "judith")
    return cli


def test_adding_tells_what_was_added(cli: Cli) -> None:
    assert cli("add", "trip", "Hello, how are you?").lines == ["trip version 2: message, 6 tokens"]
    added = cli.json("add", "trip", "--kind", "tool_result", "--tool", "t", "--call-id", "c9", "x")
    check_keys("add SESSION TEXT", added)
    (entry,) = added["entries"]
    assert (added["session_id"], added["version"], added["replayed"]) == ("trip", 3, False)
    assert (entry["kind"], entry["orphan"], entry["known"]) == ("tool_result", True, False)
    assert "there is no call with its id" in cli("add", "trip", "x", "--kind", "tool_result", "--tool", "t").out


def test_a_tool_call_takes_json_or_text(cli: Cli) -> None:
    for arguments in ('{"to": "LIS"}', "[1, 2]", "ls -la", ""):
        cli("add", "s", "--kind", "tool_call", "--tool", "t", arguments)
    contents = [entry["content"] for entry in cli.json("show", "s")["entries"]]
    assert contents == ['t({"to":"LIS"})', "t([1,2])", 't("ls -la")', 't("")']


def test_text_and_batches_come_from_standard_input_or_a_file(cli: Cli, file: File) -> None:
    text = "first\nsecond 日本語\n"
    cli("add", "s", "-", input=text)
    batch = [{"role": "user", "content": "a"}, {"role": "tool", "tool_name": "t", "content": {"b": 1}}]
    assert len(cli.json("add", "s", "--file", file(batch))["entries"]) == 2
    cli("add", "s", "--file", "-", input=json.dumps(batch))
    contents = [entry["content"] for entry in cli.json("show", "s")["entries"]]
    assert contents == [text, "a", '{"b":1}', "a", '{"b":1}']


def test_an_idempotency_key_makes_a_repetition_harmless(cli: Cli) -> None:
    first = cli.json("add", "s", "hello", "--idempotency-key", "k1")
    again = cli.json("add", "s", "hello", "--idempotency-key", "k1")
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["entries"] == again["entries"]
    assert "was there already" in cli("add", "s", "hello", "--idempotency-key", "k1").out
    refused = cli.try_("add", "s", "goodbye", "--idempotency-key", "k1")
    assert (refused.code, refused.err) == (2, "memory-ledger: this key belongs to a different request; use a new key\n")


def test_sessions(trip: Cli) -> None:
    value = trip.json("sessions")
    check_keys("sessions", value)
    rows = {(row["session_id"], row["user_id"]): row for row in value["sessions"]}
    row = rows["trip", None]
    numbers = {name: row[name] for name in ("version", "entries", "active", "summaries", "status")}
    assert numbers == {"version": 10, "entries": 6, "active": 2, "summaries": 1, "status": "live"}
    assert row["total_tokens"] == trip.json("stats", "trip")["total_tokens"]
    assert rows["trip", "judith"]["entries"] == 1
    table = trip("sessions").lines
    columns = table[0].split()
    assert columns[:2] == ["session", "user"]
    assert {"version", "entries", "active", "summaries", "tokens"} <= set(columns)
    assert [line.split()[:1] for line in table[1:]] == [["trip"], ["trip"]]
    assert "judith" in table[1]
    assert [row["user_id"] for row in trip.json("sessions", "--user", "judith")["sessions"]] == ["judith"]
    assert len(trip.json("sessions", "--limit", "1")["sessions"]) == 1


def test_sessions_names_those_whose_summaries_fail(cli: Cli, file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    with model_endpoint.serving() as endpoint:
        endpoint.answers(model_endpoint.status(401))
        monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_BASE_URL", endpoint.url)
        monkeypatch.setenv("MEMORY_LEDGER_SUMMARIZER_MODEL", "gpt-none")
        cli.json("config", "s", "--file", file({"maxEntries": 2, "recentWindow": 1, "minEntriesToCompress": 1}))
        cli("add", "other", "hello")
        for number in range(3):
            cli.try_("add", "s", f"message {number}")
    ran = cli("sessions")
    assert [line.split()[0] for line in ran.lines] == ["session", "s", "other", "s:"]
    assert "s: 1 compaction failed in a row since 20" in ran.out
    assert "the last: error: the endpoint answered 401" in ran.out
    failing, fine = cli.json("sessions")["sessions"]
    names = ("failed_compactions", "last_failure", "failing_model")
    assert [failing[name] for name in names] == [1, "error: the endpoint answered 401", "gpt-none"]
    assert failing["failing_since"].startswith("20")
    assert [fine[name] for name in names] == [0, None, None]


def test_an_empty_namespace_shows_what_to_do(cli: Cli) -> None:
    """trust V-10 for its proof."""
    assert cli.json("sessions") == {"sessions": [], "more": False}
    assert "memory-ledger add SESSION TEXT" in cli("sessions").out
    assert cli.json("verify") == {"verdict": "EMPTY", "checked": 0, "findings": []}


def test_show(trip: Cli) -> None:
    value = trip.json("show", "trip")
    check_keys("show SESSION", value)
    assert [entry["status"] for entry in value["entries"]] == ["covered"] * 4 + ["active"] * 2
    assert [entry["in_window"] for entry in value["entries"]] == [False] * 4 + [True] * 2
    (summary,) = value["summaries"]
    covered = [entry for entry in value["entries"] if entry["summary_ids"] == [summary["summary_id"]]]
    assert len(covered) == 4
    assert value["entries"][1]["content"] == 'search({"to":"LIS"})'
    lines = trip("show", "trip").lines
    assert lines[0] == "trip at version 10: 6 entries, 2 in the window"
    assert [line[7:9].strip() for line in lines[1:7]] == ["S1"] * 4 + ["●"] * 2
    assert "Tool Call (search)" in lines[2]
    assert any(line.startswith("Summary 1: 4 entries, ") for line in lines)
    assert "Find me a flight to Lisbon. " * 20 in trip("show", "trip", "--full").out
    assert "Find me a flight to Lisbon. " * 20 not in trip("show", "trip").out


def test_show_hides_what_was_cleared_unless_asked(trip: Cli) -> None:
    trip("clear", "trip")
    assert trip.json("show", "trip")["entries"] == []
    assert [entry["status"] for entry in trip.json("show", "trip", "--all")["entries"]] == ["cleared"] * 6
    assert "     2 cleared User " in trip("show", "trip", "--all").out


def test_timeline(trip: Cli) -> None:
    value = trip.json("timeline", "trip")
    check_keys("timeline SESSION", value)
    types = [event["type"] for event in value["events"]]
    assert types[:3] == ["session.opened", "entry.added", "config.changed"]
    assert types[-2:] == ["compaction.requested", "compaction.completed"]
    assert {event["actor"] for event in value["events"]} == {"cli"}
    assert value["events"][1]["payload"]["content"] == "Find me a flight to Lisbon. " * 20
    lines = trip("timeline", "trip").lines
    assert [int(line.split()[0]) for line in lines] == list(range(1, 11))
    assert "session.opened" in lines[0]
    assert "trip under memory_manager" in lines[0]
    assert len(trip("timeline", "trip", "--after", "8").lines) == 2
    assert trip("timeline", "trip", "--after", "99").out == ""


def test_context(trip: Cli) -> None:
    value = trip.json("context", "trip")
    check_keys("context SESSION", value)
    assert value["text"].startswith("=== Previous Conversation Summaries ===\n[")
    assert value["text"].endswith("=== Recent Conversation ===\nUser: And a hotel?\nUser: Near the river.")
    assert trip("context", "trip").out == value["text"] + "\n"
    assert json.loads(trip("context", "trip", "--format", "messages").out) == value["messages"]
    assert json.loads(trip("context", "trip", "--format", "rolling").out) == value["rolling"]
    assert value["tokens"] == value["budget"]["tokens"] == trip.json("stats", "trip")["total_tokens"]
    table = dict(line.rsplit(maxsplit=1) for line in trip("context", "trip", "--format", "budget").lines)
    assert table["tokens shown"] == f"{value['tokens']:,}"
    assert table["excess"] == "0"


def test_a_context_over_its_limit_is_printed_with_a_remark(cli: Cli, file: Callable[[object], str]) -> None:
    cli("add", "s", "one two three")
    cli("config", "s", "--file", file({"window": {"type": "max_tokens", "memory_max_tokens": 2}}))
    printed = cli.try_("context", "s")
    assert "one two three" in printed.out
    assert printed.err == "memory-ledger: 3 tokens are shown; the limit is 2\n"
    assert cli.json("context", "s")["budget"]["over_budget"]


def test_one_entry_is_edited_removed_and_restored(cli: Cli) -> None:
    cli("add", "s", "hello")
    cli("add", "s", "--file", "-", input=json.dumps([{"role": "user", "content": "two", "entry_id": "2"}]))
    assert cli("entry", "edit", "s", "3", "-", input="edited").lines == ["entry 2 is edited; s is at version 4"]
    assert cli("entry", "restore", "s", "3").lines == ["entry 2 is restored; s is at version 5"]
    assert cli.json("entry", "remove", "s", "2").keys() == documented("entry remove SESSION ENTRY")[0], (
        "an id goes first"
    )
    value = cli.json("entry", "show", "s", "2")
    check_keys("entry show SESSION ENTRY", value)
    assert (value["content"], value["status"], value["version"]) == ("two", "removed", 3)
    assert [change["content"] for change in value["history"]] == ["two", "edited", "two", "two"]
    lines = cli("entry", "show", "s", "2").lines
    assert lines[:2] == ["2, version 3: message, user, removed", "two"]
    assert [line.split()[3] for line in lines[2:] if "entry." in line][-1] == "entry.removed"
    then = cli.json("entry", "show", "s", "2", "--version", "4")
    assert (then["content"], then["fate"]["status"]) == ("edited", "shown")
    assert cli("entry", "show", "s", "2", "--version", "4").lines[2] == then["fate"]["sentence"]
    cli("entry", "restore", "s", "2", "--version", "4")
    assert cli.json("show", "s")["entries"][-1]["content"] == "edited"
    window, found = cli.json("window", "s"), cli.json("find", "s", "EDITED")
    check_keys("window SESSION", window)
    check_keys("find SESSION TEXT", found)
    assert [item["text"] for item in window["items"]] == ["hello", "edited"]
    assert [match["entry_id"] for match in found["matches"]] == ["2"]
    assert cli("window", "s").lines[-1] == "0 active entries not shown"
    assert "edited" in cli("find", "s", "edited").out
    for wrong in ("1", "99", "9" * 30, "nobody"):
        refused = cli.try_("entry", "restore", "s", wrong)
        assert refused.code == 2
        assert f"entry '{wrong}' was never in this session" in refused.err


def test_stats(trip: Cli) -> None:
    value = trip.json("stats", "trip")
    check_keys("stats SESSION", value)
    counted = {name: value[name] for name in ("total_entries", "active_entries", "compressed_entries", "summaries")}
    assert counted == {"total_entries": 6, "active_entries": 2, "compressed_entries": 4, "summaries": 1}
    assert value["total_tokens"] > value["active_tokens"] > 0
    shown = dict(line.rsplit(maxsplit=1) for line in trip("stats", "trip").lines[:6] if line.strip())
    assert shown["total entries"] == "6"


def test_diff(trip: Cli) -> None:
    value = trip.json("diff", "trip", "2", "10")
    sides = {"version", "what_if", "budget", "stats", "spent", "only_entries", "only_summaries"}
    both = {"before", "after"}
    keys = both | {"edited", "config_changed", "changes"}
    inside = sides | set(value["before"]["spent"]) | set(value["changes"])
    assert documented("diff SESSION A B") == (keys | inside, {"edited": both})
    assert value.keys() == keys
    assert [(value[side]["version"], value[side].keys()) for side in ("before", "after")] == [(2, sides), (10, sides)]
    assert value["config_changed"] is True
    lines = trip("diff", "trip", "2", "10").lines
    assert lines[0].startswith("--- version 2: ")
    assert any(line.startswith("+ [summary of 4 entries] ") for line in lines)
    assert "Both show the same." in trip("diff", "trip", "10", "10").out


SHAPES: dict[tuple[str, ...], type[BaseModel]] = {
    ("show", "trip"): ShownStateShape,
    ("stats", "trip"): StatsShape,
    ("search", "Lisbon"): HitsShape,
    ("diff", "trip", "2", "10"): DifferenceShape,
    ("what-if", "trip", "--without", "2", "--on-miss", "estimate"): WhatIfShape,
}


def test_json_is_what_the_service_answers(trip: Cli) -> None:
    """Each value is read by the model of the service's answer, which allows no other field, and is written alike."""
    for row in trip.json("sessions")["sessions"]:
        assert SessionShape.model_validate(row).model_dump(mode="json") == row
    for event in trip.json("timeline", "trip")["events"]:
        assert EventShape.model_validate(event).model_dump(mode="json") == event
    for command, shape in SHAPES.items():
        value = trip.json(*command)
        assert shape.model_validate(value).model_dump(mode="json") == value, command


def test_json_with_another_name_for_a_field_is_noticed(trip: Cli) -> None:
    """Negative control."""
    value = trip.json("show", "trip")
    value["entries"][0]["id"] = value["entries"][0].pop("entry_id")
    with pytest.raises(ValidationError) as refused:
        ShownStateShape.model_validate(value)
    assert [(fault["type"], fault["loc"][2:]) for fault in refused.value.errors()] == [
        ("missing", ("entry_id",)),
        ("extra_forbidden", ("id",)),
    ]


def test_compress(trip: Cli) -> None:
    trip("add", "trip", "Many words. " * 50)
    trip("config", "trip", "--set", "recentWindow=0")
    value = trip.json("compress", "trip")
    check_keys("compress SESSION", value)
    assert CompactionShape.model_validate(value).model_dump(mode="json") == value
    assert value["entries_compressed"] >= 2
    assert value["tokens_saved"] == value["tokens_before"] - value["tokens_after"]
    trip("add", "trip", "Many words. " * 50)
    assert "1 entry, " in trip("compress", "trip", "--force").out
    refused = trip.try_("compress", "trip")
    assert refused.err == "memory-ledger: 0 entries may be compressed, 2 needed; add more\n"


def test_clear(trip: Cli) -> None:
    assert trip.json("clear", "trip") == {"session_id": "trip", "version": 11}
    assert trip("clear", "trip").out == "trip is empty at version 11\n"
    assert trip("context", "trip").out == "\n"
    trip("clear", "trip", "--end")
    assert trip.json("sessions")["sessions"][0]["status"] == "ended"


def test_config(trip: Cli, file: File) -> None:
    before = trip.json("config", "trip")
    assert before["compactions"][0]["max_entries"] == 5
    assert json.loads(trip("config", "trip").out) == before
    changed = trip.json("config", "trip", "--set", "maxTokens=8000", "--set", "prompt=Sum up: {content}")
    assert changed["compactions"][0]["max_tokens"] == 8_000
    assert changed["compactions"][0]["prompt"] == "Sum up: {content}"
    rolling = {"profile": "rolling_interactions", "size": 3}
    assert trip.json("config", "trip", "--file", file(rolling))["profile"] == "rolling_interactions"
    assert trip.json("config", "trip", "--file", "-", input=json.dumps(before)) == before
    assert trip.json("config", "trip") == before
    assert trip.json("config", "show", "trip") == before


def test_config_check(trip: Cli, file: File) -> None:
    path = file({"window": {"type": "max_tokens", "memory_max_tokens": 0, "conditions": ["message.role == 'tool'"]}})
    value = trip.json("config", "check", path)
    check_keys("config check FILE", value)
    assert [finding["code"] for finding in value["findings"]] == ["condition_never_true"]
    (line,) = trip("config", "check", path).lines
    assert line.startswith("condition_never_true: window.conditions[0]: no interaction meets this condition")
    assert trip.json("config", "check", path, "--session", "trip") == value
    assert trip.json("what-if", "trip", "--config", path)["findings"] == value["findings"]
    assert line in trip("what-if", "trip", "--config", path).lines
    assert trip("config", "check", file({"profile": "none"})).out == "Nothing found.\n"
    assert check_one_line(trip.try_("config", "check", path, "--session", "none")).startswith("session")
    assert "no_such_field" in check_one_line(trip.try_("config", "check", file({"no_such_field": 1})))


#: What an import says beside its counts, where there is nothing to say.
NOTHING_TO_SAY: Final[dict[str, Any]] = {"other_lines": {}, "notes": [], "note_counts": {}, "reread": []}


def test_export_and_import(trip: Cli, tmp_path: Path) -> None:
    value = trip.json("export", "trip", "-o", "trip.jsonl")
    check_keys("export [SESSION]", value)
    written = Path("trip.jsonl").read_bytes()
    assert (value["file"], value["lines"], value["bytes"]) == ("trip.jsonl", 12, len(written))
    assert trip("export", "trip").out.encode() == written
    assert trip("export", "trip", "-o", "trip.jsonl").out == f"12 lines, {len(written):,} bytes in trip.jsonl\n"
    everything = trip("export", "--all").out.encode()
    assert len(everything.splitlines()) == 14
    other = trip.elsewhere(f"{trip.namespace}-copy")
    done = other.json("import", "trip.jsonl")
    counts = {"sessions": 1, "entries": 6, "skipped": 0}
    assert done == {**counts, "session_ids": ["trip"], **NOTHING_TO_SAY}
    waiting = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": "{}"}}]}
    check_keys("import FILE…", other.json("import", "-", "--session", "waiting", input=json.dumps([waiting])))
    assert other("import", "trip.jsonl").lines[0] == "0 entries of 1 session recorded; 6 were there already"
    assert other.json("import", "trip.jsonl", "--session", "again", "--user", "tom")["entries"] == 6
    assert other.json("import", "-", input=everything)["entries"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"trip.jsonl"}


def test_export_of_a_state_is_seed_000s(trip: Cli) -> None:
    state = json.loads(trip("export", "trip", "--format", "state").out)
    assert list(state) == ["sessionId", "entries", "summaries", "totalTokens"]
    assert len(state["entries"]) == 6
    trip("export", "trip", "--format", "state", "-o", "state.json")
    assert json.loads(Path("state.json").read_bytes()) == state


def test_import_of_several_files(cli: Cli, file: File) -> None:
    item = file([{"role": "user", "content": "hello"}], "one.json")
    two = file([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}], "two.json")
    assert cli.json("import", item, two) == {
        "sessions": 2,
        "entries": 3,
        "skipped": 0,
        "session_ids": ["one", "two"],
        **NOTHING_TO_SAY,
    }
    assert cli("import", item, two).lines[0] == "0 entries of 2 sessions recorded; 3 were there already"


def test_an_import_says_what_it_could_not_know(cli: Cli, file: File) -> None:
    """adapters IN-20: with the keys that the page promises."""
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    asked = [{"role": "user", "content": "look"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    done = cli.json("import", file(asked, "asked.json"))
    check_keys("import FILE…", done)
    (note,) = done["notes"]
    assert (note["session_id"], note["kind"], done["note_counts"]) == (
        "asked",
        "call_without_result",
        {"call_without_result": 1},
    )


def test_verify(trip: Cli) -> None:
    """trust V-1, V-4."""
    value = trip.json("verify")
    check = {"verdict": "OK-CHAINED", "checked": 12, "findings": []}
    assert value == check
    assert documented("verify [SESSION]")[0] == check.keys()
    assert trip.json("verify", "trip")["checked"] == 10
    assert trip("verify").out == "OK-CHAINED: 12 events checked\n"
    for level in ("signed", "witnessed"):
        ran = trip.try_("verify", "--require", level)
        assert (ran.code, ran.err) == (12, "")


def test_doctor(cli: Cli) -> None:
    value = cli.json("doctor")
    check_keys("doctor", value)
    assert value["verdict"] == "ok"
    assert {check["level"] for check in value["checks"]} == {"ok"}
    assert all(line.startswith("✓ ") for line in cli("doctor").lines)


def test_the_common_options_stand_before_or_after_the_command(cli: Cli) -> None:
    cli("add", "s", "hello")
    before = cli.try_("--json", "stats", "s").json
    after = cli.try_("stats", "s", "--json", *cli.where, where=[]).json
    assert before == after
    assert cli.try_("stats", "s", "--namespace", "elsewhere").code == 2, "what stands after wins"


def test_settings_come_from_the_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DATABASE_URL", cli.url), ("NAMESPACE", cli.namespace), ("ACTOR", "me")):
        monkeypatch.setenv(f"MEMORY_LEDGER_{name}", value)
    cli.try_("add", "s", "hello", where=[])
    assert {event["actor"] for event in cli.json("timeline", "s")["events"]} == {"me"}


def test_every_command_has_help(cli: Cli) -> None:
    overview = cli.try_("--help", where=[])
    assert overview.code == 0
    from tests.cli.test_refusals import COMMANDS  # noqa: PLC0415 - its table names them all

    for name in COMMANDS:
        assert name.split()[0] in overview.out
        ran = cli.try_(*name.split(), "--help", where=[])
        assert (ran.code, ran.err) == (0, "")
        assert f"Usage: memory-ledger {name}" in " ".join(ran.out.split())


def test_the_version_is_that_of_the_package(cli: Cli) -> None:
    import ledger  # noqa: PLC0415 - the name of the package

    assert cli.try_("--version", where=[]).out == f"{ledger.__version__}\n"


def test_the_example_of_the_demo_is_there() -> None:
    assert example().exists()


def test_a_fork_goes_on_from_a_version_or_a_moment(trip: Cli, tmp_path: Path) -> None:
    assert trip("fork", "trip", "plan-b").lines == ["plan-b starts from trip at version 10"]
    forked = trip.json("fork", "trip", "plan-c", "--version", "4", "--new-user", "ann")
    check_keys("fork SESSION NEW", forked)
    assert (forked["session_id"], forked["user_id"], forked["at_version"], forked["version"]) == ("plan-c", "ann", 4, 5)
    moment = trip.json("timeline", "trip")["events"][4]["recorded_at"]
    assert trip.json("fork", "trip", "plan-d", "--at", moment)["at_version"] == 5
    assert trip.json("fork", "plan-c", "plan-e", "--user", "ann")["user_id"] == "ann"
    family = trip.json("family", "plan-e", "--user", "ann")
    check_keys("family SESSION", family)
    assert {each["session_id"]: each["parent"] for each in family["members"]} == {
        "trip": None, "plan-b": "trip", "plan-c": "trip", "plan-d": "trip", "plan-e": "plan-c"
    }  # fmt: skip
    lines = trip("family", "trip").lines
    assert (len(lines), lines[1].split()[0]) == (6, "trip")
    assert {row["session_id"] for row in trip.json("sessions", "--id", "plan")["sessions"]} == {
        "plan-b", "plan-c", "plan-d", "plan-e"
    }  # fmt: skip
    assert {row["session_id"] for row in trip.json("sessions", "--id-prefix", "tr")["sessions"]} == {"trip"}
    assert trip.json("sessions", "--id-prefix", "rip")["sessions"] == [], "control: no id begins so"
    assert {row["session_id"] for row in trip.json("sessions", "--user-prefix", "an")["sessions"]} == {
        "plan-c", "plan-e"
    }  # fmt: skip
    assert trip.try_("sessions", "--id-prefix", "a/b").code == 2
    assert trip.json("sessions", "--run-id", "nobody's")["sessions"] == []
    entries = tmp_path / "entries.json"
    entries.write_text('[{"role": "user", "content": "Said in a run.", "metadata": {"run_id": "r"}}]')
    trip.json("add", "plan-b", "--file", str(entries))
    assert [row["session_id"] for row in trip.json("sessions", "--run-id", "r")["sessions"]] == ["plan-b"]
    trip("add", "plan-b", "A train instead.")
    assert "A train instead." not in trip("show", "trip", "--all").out
    assert "Find me a flight" in trip("show", "plan-b", "--all").out
    assert trip("verify").out.startswith("OK-CHAINED")
    assert trip.try_("fork", "trip", "plan-b").code == 2
    assert trip.try_("fork", "trip", "x", "--version", "99").code == 2
    assert trip.try_("fork", "trip", "x", "--at", "yesterday").code == 2
